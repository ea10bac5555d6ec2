export interface TicketOptions {
  /** Where the live addresses are. Default: `/live`. */
  url?: string;
  /** The topics that the ticket is good for. Default: whatever the user may see. */
  topics?: string[];
  /** The value of the CSRF cookie. Default: that of `csrftoken`. */
  csrfToken?: string;
}

/** A one-use ticket for the user who is signed in on this page. Throws an Error when there is none. */
export async function sessionTicket(options: TicketOptions = {}): Promise<string> {
  const answer = await fetch(`${options.url ?? "/live"}/ticket`, {
    method: "POST",
    credentials: "same-origin",
    headers: { "Content-Type": "application/json", "X-CSRFToken": options.csrfToken ?? cookie("csrftoken") },
    body: JSON.stringify(options.topics ? { topics: options.topics } : {}),
  });
  if (!answer.ok) throw new Error(`No ticket: the server answered ${answer.status}.`);
  return ((await answer.json()) as { ticket: string }).ticket;
}

function cookie(name: string): string {
  const found = document.cookie.split("; ").find((each) => each.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
}
