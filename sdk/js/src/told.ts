const MOST_KEYS = 10_000;
const MOST_RUNS = 5000;
const MOST_ENTITIES = 2000;

/**
 * What was told of runs and of what apps say. A snapshot may be newer than the number it bears, so that the events
 * after it tell some of it again. Remembers the last several thousand.
 */
export class Told {
  private readonly keys = new Set<string>();
  /** The last word on each job's runs; guessed: that one had ended, not when or how. */
  private readonly last = new Map<string, "began" | "ended" | "guessed">();
  private readonly entities = new Set<string>();

  /** A run began; false when that was told. Without an instant it is always another one. */
  began(jobId: string, at: string | null): boolean {
    if (at !== null && !remember(this.keys, `began ${jobId} ${at}`, MOST_KEYS)) return false;
    this.note(jobId, "began");
    return true;
  }

  /** A run ended; false when that was told. Only the last of a job has an instant: attempts before it have none. */
  ended(jobId: string, at: string | null, guessed = false): boolean {
    const before = this.last.get(jobId);
    if (at !== null && !remember(this.keys, `ended ${jobId} ${at}`, MOST_KEYS)) return false;
    if (before === "guessed" || (before === "ended" && at === null)) return false;
    this.note(jobId, guessed ? "guessed" : "ended");
    return true;
  }

  /** An app told something; false when that was told. */
  entity(id: string): boolean {
    return remember(this.entities, id, MOST_ENTITIES);
  }

  private note(jobId: string, word: "began" | "ended" | "guessed"): void {
    this.last.delete(jobId);
    this.last.set(jobId, word);
    if (this.last.size > MOST_RUNS) this.last.delete(this.last.keys().next().value!);
  }
}

/** False when it was there. */
function remember(seen: Set<string>, key: string, most: number): boolean {
  if (seen.has(key)) return false;
  seen.add(key);
  if (seen.size > most) seen.delete(seen.values().next().value!);
  return true;
}
