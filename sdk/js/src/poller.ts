import { backoff } from "./backoff.js";
import type { Settings } from "./options.js";
import type { LostReason } from "./status.js";
import type { Topic } from "./topic.js";
import type { Snapshot } from "./wire.js";

const ANSWER_MS = 10_000;
const MOST_PAUSE_MS = 15_000;

type Answer = "good" | Exclude<LostReason, "">;

/** Asks for the state of each topic every few seconds, while no WebSocket can be had. */
export class Poller {
  private running = false;
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private round = 0;
  private abort: AbortController | null = null;

  constructor(
    private readonly settings: Settings,
    private readonly topics: () => Topic[],
    /** Told after each round: did the server answer, and if not, why. */
    private readonly onRound: (good: boolean, reason: LostReason) => void,
  ) {}

  get isRunning(): boolean {
    return this.running;
  }

  start(): void {
    if (this.running || !this.settings.polling || !this.settings.fetch) return;
    this.running = true;
    this.failures = 0;
    void this.poll();
  }

  stop(): void {
    this.running = false;
    this.round += 1;
    clearTimeout(this.timer);
    this.abort?.abort();
  }

  /** The next round now, not when its time has come. */
  hurry(): void {
    if (!this.running || this.abort) return;
    clearTimeout(this.timer);
    void this.poll();
  }

  private async poll(): Promise<void> {
    const round = ++this.round;
    const abort = new AbortController();
    this.abort = abort;
    const patience = setTimeout(() => abort.abort(), ANSWER_MS);
    const answers: Answer[] = [];
    for (const topic of this.topics()) {
      if (topic.refused) continue;
      const answer = await this.ask(topic, abort.signal, () => round === this.round);
      answers.push(answer);
      // A server that is away for one is away for all.
      if (round !== this.round || answer === "unreachable") break;
    }
    clearTimeout(patience);
    if (round !== this.round) return;
    this.abort = null;
    const failed = answers.find((answer): answer is Exclude<Answer, "good"> => answer !== "good") ?? "";
    this.failures = failed ? this.failures + 1 : 0;
    this.timer = setTimeout(() => void this.poll(), this.pause());
    if (answers.length) this.onRound(failed === "", failed);
  }

  private pause(): number {
    const { pollEveryMs, random } = this.settings;
    if (this.failures) return backoff(this.failures + 2, pollEveryMs / 2, MOST_PAUSE_MS, random);
    return pollEveryMs * (0.8 + 0.4 * random());
  }

  private async ask(topic: Topic, signal: AbortSignal, current: () => boolean): Promise<Answer> {
    try {
      const query = new URLSearchParams({ topic: topic.name, limit: String(topic.limit) });
      const headers = { Accept: "application/json", ...(await this.settings.pollHeaders?.()) };
      const options: RequestInit = { headers, signal, cache: "no-store", credentials: "same-origin" };
      const answer = await this.settings.fetch!(`${this.settings.url}/poll?${query}`, options);
      if (answer.ok) {
        const snapshot = (await answer.json()) as Snapshot;
        // Sequence numbers belong to a connection.
        if (current()) topic.onSnapshot({ ...snapshot, seq: undefined });
        return "good";
      }
      if (answer.status === 401) return "unauthenticated";
      if (answer.status >= 500 || answer.status === 429) return "unreachable";
      const told = (await answer.json()) as { error?: { code: string; message: string } };
      const error = told.error ?? { code: `HTTP_${answer.status}`, message: answer.statusText };
      if (current()) topic.onError(error);
      return "good";
    } catch {
      return "unreachable";
    }
  }
}
