/** What the server tells the page. */
export interface Facts {
  /** Where a scan is started. */
  start: string;
  /** A folder to begin with. */
  root: string;
  /** The admin's page of a job, with `place` for its id; empty without an admin. */
  job: string;
  place: string;
  mayStart: boolean;
  csrfToken: string;
}

export function readFacts(): Facts {
  return JSON.parse(document.getElementById("demo-facts")!.textContent!) as Facts;
}

/** Starts a scan and returns its id. Throws an Error that says why not. */
export async function startScan(facts: Facts, root: string): Promise<string> {
  const answer = await fetch(facts.start, {
    method: "POST",
    credentials: "same-origin",
    headers: { "Content-Type": "application/json", "X-CSRFToken": facts.csrfToken },
    body: JSON.stringify({ root }),
  });
  const told = (await answer.json().catch(() => null)) as { id?: string; error?: { message: string } } | null;
  if (answer.ok && told?.id) return told.id;
  throw new Error(told?.error?.message ?? `The server answered ${answer.status}.`);
}
