import type { Settings } from "./options.js";
import { guarded } from "./signal.js";
import { isKnown, Store, type TopicState } from "./store.js";
import type { ClientFrame, LiveEvent, Snapshot } from "./wire.js";

/** A refusal, or a topic that is not there. `code` is one of the server's. */
export interface TopicError {
  code: string;
  message: string;
}

export interface TopicListener {
  /** Each event, once and in order. After a time without a connection: what would have led to the state. */
  onEvent?: (event: LiveEvent) => void;
  /** The state after a change; several changes may come as one. At once if it is known already. */
  onState?: (state: TopicState) => void;
  onError?: (error: TopicError) => void;
  /** How many jobs a snapshot holds at most. Default 50; the highest of a topic's listeners counts. */
  limit?: number;
}

/** The way to the server. */
export interface Link {
  /** Of the server's process that is connected. */
  readonly epoch: string;
  /** It speaks another version of the wire. */
  readonly outdated: boolean;
  /** False when there is no connection. */
  send(frame: ClientFrame): boolean;
}

const DEFAULT_LIMIT = 50;
const MOST_LIMIT = 1000;
const MOST_KEPT = 2000;
const REPLAY_MS = 400;
const REPLAYS = 3;
const SNAPSHOT_MS = 2000;
const MOST_SHORT = 3;
const MOST_AHEAD = 500;
const SNAPSHOT_GAP_MS = 200;
const REFRESH_MS = 1000;
const STRANGE_BEATS = 2;
const TRANSIENT = new Set(["RATE_LIMITED", "UNAVAILABLE", "INTERNAL"]);

/** One topic: who listens, how far it has been heard, and what is asked for again. */
export class Topic {
  /** The server was asked for it on this connection, and did not refuse. */
  refused: TopicError | null = null;
  private readonly listeners = new Set<TopicListener>();
  private readonly store = new Store();
  private synced = false;
  private epoch = "";
  /** The last event taken in; null while a snapshot is awaited. */
  private seq: number | null = null;
  private head = 0;
  private readonly ahead = new Map<number, LiveEvent>();
  private subscribed = false;
  private asks = 0;
  private askedLimit = 0;
  /** Of the newest rows, so many are surely held; all of them when that is `MOST_LIMIT`. */
  private heldLimit = 0;
  /** Snapshots in a row that held fewer rows than were asked for, and not all. */
  private short = 0;
  private snapshotAt = 0;
  /** The id of the last `app_entity`: what was told while nobody listened is asked for by it. */
  private lastEvent = "";
  private strange = 0;
  private askTimer: ReturnType<typeof setTimeout> | undefined;
  private stateTimer: ReturnType<typeof setTimeout> | undefined;
  private refreshTimer: ReturnType<typeof setTimeout> | undefined;
  private changed = false;

  constructor(
    readonly name: string,
    readonly sub: string,
    private readonly settings: Settings,
    private readonly link: Link,
  ) {}

  get limit(): number {
    const asked = [...this.listeners].map((listener) => listener.limit ?? DEFAULT_LIMIT);
    return Math.min(MOST_LIMIT, Math.max(1, ...(asked.length ? asked : [DEFAULT_LIMIT])));
  }

  get unused(): boolean {
    return this.listeners.size === 0;
  }

  get state(): TopicState {
    const { jobs, external, running } = this.store;
    return { synced: this.synced, jobs, external, running };
  }

  add(listener: TopicListener): void {
    this.listeners.add(listener);
    // Without a connection, the next one is asked for them.
    if (this.subscribed && !this.refused && this.limit > this.askedLimit) this.restart();
    queueMicrotask(() => {
      if (!this.listeners.has(listener)) return;
      if (this.refused) guarded(() => listener.onError?.(this.refused!));
      else if (this.store.filled) guarded(() => listener.onState?.(this.state));
    });
  }

  remove(listener: TopicListener): void {
    this.listeners.delete(listener);
  }

  /** Asks a connection for everything since the last event, or for a snapshot. */
  subscribe(): void {
    this.refused = null;
    const epoch = this.link.epoch;
    if (this.seq !== null && this.epoch === epoch && this.limit <= this.heldLimit) {
      this.request({ since: { epoch, seq: this.seq } });
    } else {
      this.restart();
    }
  }

  /** No beat has come: asks for whatever came after the last event, which the server may have told to nobody. */
  probe(): void {
    if (this.refused || this.seq === null) return;
    this.strange += 1;
    // The server does not answer while it waits for us to ask for a snapshot, whose demand was lost.
    if (this.strange > STRANGE_BEATS) this.restart();
    else this.link.send({ type: "replay", sub: this.sub, after: this.seq });
  }

  /** The connection is gone: unless polls go on, what is shown may be old from here on. */
  disconnected(polled = false): void {
    this.subscribed = false;
    this.settle();
    clearTimeout(this.refreshTimer);
    this.refreshTimer = undefined;
    if (!this.synced || polled) return;
    this.synced = false;
    this.tell();
  }

  /** Ends all of it. */
  dispose(): void {
    // What the server does not know it would refuse, and too many refusals end the connection.
    if (this.subscribed && !this.refused) this.link.send({ type: "unsubscribe", sub: this.sub });
    clearTimeout(this.askTimer);
    clearTimeout(this.stateTimer);
    clearTimeout(this.refreshTimer);
    this.listeners.clear();
  }

  onSnapshot(snapshot: Snapshot): void {
    if (!Array.isArray(snapshot.jobs)) return;
    const news = this.store.replace(snapshot, this.limit);
    // Without the events before it, those would never be told: a poll does not bring them.
    if (snapshot.events || !this.lastEvent) this.lastEvent = snapshot.last_event_id ?? this.lastEvent;
    this.store.trim(MOST_KEPT);
    this.synced = true;
    this.snapshotAt = Date.now();
    this.refused = null;
    const enough = this.holdsEnough(snapshot);
    if (typeof snapshot.seq === "number" && enough) {
      this.epoch = this.link.epoch;
      this.seq = snapshot.seq;
      this.head = Math.max(snapshot.seq, this.head);
      this.strange = 0;
      this.settle();
    }
    for (const event of news) this.emit(event);
    this.tell();
    this.drain();
  }

  /** Or is it the answer to an earlier question, for fewer rows? The one that is awaited may have been lost. */
  private holdsEnough({ complete, jobs }: Snapshot): boolean {
    const all = complete ?? jobs.length < this.limit;
    this.short = all || jobs.length >= this.limit ? 0 : this.short + 1;
    if (this.short % MOST_SHORT) return false;
    this.heldLimit = all ? MOST_LIMIT : this.limit;
    return true;
  }

  onEvent(seq: number, event: LiveEvent): void {
    if (this.seq === null) {
      // The snapshot that is awaited may be older than this.
      this.keepAhead(seq, event);
      return;
    }
    if (seq <= this.seq) return;
    this.keepAhead(seq, event);
    this.drain();
  }

  /** The server's own count, told by a beat; undefined when it does not know the subscription. */
  onHead(head: number | undefined): void {
    if (this.refused) return;
    // While a snapshot is made for it, the server does not count it.
    if (this.seq === null) return;
    const strange = head === undefined || head < this.seq;
    this.strange = strange ? this.strange + 1 : 0;
    if (strange) {
      // Once may be a beat that was on its way; twice is a server that has begun to count anew.
      if (this.strange >= STRANGE_BEATS) this.restart();
    } else if (head > this.seq) {
      this.head = Math.max(this.head, head);
      this.askMissing();
    } else if (!this.synced) {
      this.synced = true;
      this.tell();
    }
  }

  /** The server gave up on telling every event: a snapshot, though not many a second while that goes on. */
  resync(): void {
    this.forget();
    const rest = this.snapshotAt + SNAPSHOT_GAP_MS + this.limit - Date.now();
    if (rest <= 0) this.askSnapshot();
    else this.later(rest, () => this.askSnapshot());
  }

  private restart(): void {
    this.forget();
    this.askSnapshot();
  }

  private forget(): void {
    this.seq = null;
    this.head = 0;
    this.ahead.clear();
  }

  onError(error: TopicError): void {
    if (error.code === "UNKNOWN_SUB") {
      this.restart();
      return;
    }
    if (TRANSIENT.has(error.code)) {
      this.asks += 1;
      this.later(SNAPSHOT_MS, () => this.subscribe());
      return;
    }
    this.refused = error;
    this.settle();
    if (this.synced) {
      // What is shown is not kept true any more.
      this.synced = false;
      this.tellNow();
    }
    for (const listener of [...this.listeners]) guarded(() => listener.onError?.(error));
  }

  private drain(): void {
    if (this.seq === null) return;
    for (const seq of [...this.ahead.keys()]) if (seq <= this.seq) this.ahead.delete(seq);
    let moved = false;
    for (let event = this.ahead.get(this.seq + 1); event; event = this.ahead.get(this.seq + 1)) {
      this.ahead.delete(this.seq + 1);
      this.seq += 1;
      moved = true;
      if (event.name === "app_entity") this.lastEvent = event.id;
      if (!isKnown(event)) this.refreshSoon();
      else if (this.store.apply(event)) this.emit(event);
    }
    if (moved) {
      this.store.trim(MOST_KEPT);
      this.tell();
    }
    this.head = Math.max(this.head, this.seq, ...this.ahead.keys());
    if (this.head === this.seq) this.settle();
    else this.askMissing(moved);
  }

  private keepAhead(seq: number, event: LiveEvent): void {
    this.ahead.set(seq, event);
    if (this.ahead.size <= MOST_AHEAD) return;
    if (this.seq !== null) this.restart();
    else this.ahead.delete(this.ahead.keys().next().value!);
  }

  private askMissing(progress = false): void {
    if (progress) this.asks = 0;
    if (this.askTimer !== undefined) {
      if (progress) this.later(REPLAY_MS, () => this.askMissing());
      return;
    }
    if (this.asks >= REPLAYS) {
      this.restart();
      return;
    }
    this.asks += 1;
    if (this.seq !== null) this.link.send({ type: "replay", sub: this.sub, after: this.seq });
    this.later(REPLAY_MS, () => this.askMissing());
  }

  private askSnapshot(): void {
    if (!this.request({})) return;
    this.asks += 1;
    this.later(SNAPSHOT_MS * Math.min(5, this.asks), () => this.seq === null && this.askSnapshot());
  }

  private request(more: { since?: { epoch: string; seq: number } }): boolean {
    const { sub, name: topic, limit } = this;
    // Whoever asks for events since then may get a snapshot too.
    const after = this.lastEvent ? { after_event: this.lastEvent } : {};
    if (!this.link.send({ type: "subscribe", sub, topic, snapshot: true, limit, ...more, ...after })) return false;
    this.askedLimit = limit;
    this.subscribed = true;
    return true;
  }

  /** A server of another version told something that may be a change of what is shown. */
  private refreshSoon(): void {
    if (!this.link.outdated || this.refreshTimer !== undefined) return;
    this.refreshTimer = setTimeout(() => {
      this.refreshTimer = undefined;
      this.restart();
    }, REFRESH_MS);
  }

  private later(ms: number, run: () => void): void {
    clearTimeout(this.askTimer);
    this.askTimer = setTimeout(() => {
      this.askTimer = undefined;
      run();
    }, ms);
  }

  private settle(): void {
    clearTimeout(this.askTimer);
    this.askTimer = undefined;
    this.asks = 0;
  }

  private emit(event: LiveEvent): void {
    for (const listener of [...this.listeners]) guarded(() => listener.onEvent?.(event));
  }

  private tell(): void {
    this.changed = true;
    if (this.stateTimer !== undefined) return;
    this.tellNow();
    this.stateTimer = setTimeout(() => {
      this.stateTimer = undefined;
      if (this.changed) this.tell();
    }, this.settings.stateEveryMs);
  }

  private tellNow(): void {
    this.changed = false;
    const state = this.state;
    for (const listener of [...this.listeners]) guarded(() => listener.onState?.(state));
  }
}
