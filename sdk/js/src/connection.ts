import { backoff } from "./backoff.js";
import type { Settings } from "./options.js";
import { type LostReason, reasonOf } from "./status.js";
import type { ClientFrame, Hello } from "./wire.js";

export interface ConnectionEvents {
  /** Hello was said; subscriptions may be made. */
  onLive(hello: Hello): void;
  onFrame(frame: { type?: unknown }): void;
  /** A connection ended, or one could not be made. The next attempt is on its way. */
  onDown(reason: LostReason): void;
}

const STABLE_MS = 10_000;
const PING_AFTER_MS = 25_000;
const ANSWER_MS = 2500;
const REFUSED_MS = 15_000;
const NORMAL_CLOSE = 1000;

/** One WebSocket at a time, made again for as long as it is wanted. */
export class Connection {
  private socket: WebSocket | null = null;
  private wanted = false;
  private live = false;
  private failures = 0;
  private liveAt = 0;
  private heardAt = 0;
  private askedAt = 0;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private helloTimer: ReturnType<typeof setTimeout> | undefined;
  /** Counts attempts, so that what belongs to an earlier one is ignored. */
  private attempt = 0;

  constructor(
    private readonly settings: Settings,
    private readonly events: ConnectionEvents,
  ) {}

  get isLive(): boolean {
    return this.live;
  }

  start(): void {
    if (this.wanted) return;
    this.wanted = true;
    void this.open();
  }

  stop(): void {
    this.wanted = false;
    clearTimeout(this.retryTimer);
    this.drop();
  }

  /** Tries again within `withinMs`, if it is waiting for its next attempt. */
  retrySoon(withinMs: number): void {
    if (!this.wanted || this.socket || this.retryTimer === undefined) return;
    this.schedule(withinMs * this.settings.random());
  }

  /** Gives the connection up and makes a new one at once. */
  restart(): void {
    if (!this.wanted) return;
    this.failures = 0;
    const was = this.socket !== null;
    this.drop();
    if (was) this.events.onDown("");
    clearTimeout(this.retryTimer);
    void this.open();
  }

  /** False when there is no connection. */
  send(frame: ClientFrame): boolean {
    if (!this.live || !this.socket) return false;
    this.socket.send(JSON.stringify(frame));
    return true;
  }

  /** To be called about once a second: notices a connection that is open and dead. */
  check(quietMs: number): void {
    if (!this.live) return;
    const now = Date.now();
    const quiet = now - this.heardAt;
    if (this.askedAt > this.heardAt) {
      if (now - this.askedAt > ANSWER_MS) this.down("silent", this.attempt);
    } else if (quiet > Math.min(quietMs, PING_AFTER_MS)) {
      this.ping();
    }
  }

  /** Asks for a sign of life; without one the connection is made anew. */
  ping(): void {
    if (this.send({ type: "ping" })) this.askedAt = Date.now();
  }

  private async open(): Promise<void> {
    this.retryTimer = undefined;
    const attempt = ++this.attempt;
    this.helloTimer = setTimeout(() => this.down("unreachable", attempt), this.settings.helloMs);
    try {
      const address = await this.address();
      if (attempt !== this.attempt || !this.wanted) return;
      if (!this.settings.WebSocket) throw new Error("no WebSocket");
      this.attach(new this.settings.WebSocket(address), attempt);
    } catch {
      this.down(this.settings.ticket ? "ticket" : "unreachable", attempt);
    }
  }

  private async address(): Promise<string> {
    const address = `${this.settings.url.replace(/^http/, "ws")}/ws`;
    if (!this.settings.ticket) return address;
    return `${address}?ticket=${encodeURIComponent(await this.settings.ticket())}`;
  }

  private attach(socket: WebSocket, attempt: number): void {
    this.socket = socket;
    socket.onmessage = (message) => {
      if (attempt === this.attempt) this.receive(message.data);
    };
    socket.onclose = (close) => this.down(reasonOf(close.code), attempt);
  }

  private receive(data: unknown): void {
    this.heardAt = Date.now();
    const frame = parsed(data);
    if (frame === null) return;
    if (frame.type === "hello" && !this.live) {
      clearTimeout(this.helloTimer);
      this.live = true;
      this.liveAt = this.heardAt;
      this.askedAt = 0;
      this.events.onLive(frame as Hello);
    } else if (this.live) {
      this.events.onFrame(frame);
    }
  }

  private down(reason: LostReason, attempt: number): void {
    if (attempt !== this.attempt || !this.wanted) return;
    const stable = this.live && Date.now() - this.liveAt >= STABLE_MS;
    this.failures = stable ? 1 : this.failures + 1;
    this.drop();
    const { backoffMs, maxBackoffMs, random } = this.settings;
    const pause = backoff(this.failures, backoffMs, maxBackoffMs, random);
    const refused = reason === "forbidden" || reason === "refused" || (reason === "unauthenticated" && !this.settings.ticket);
    this.schedule(refused ? Math.max(pause, REFUSED_MS) : pause);
    this.events.onDown(reason);
  }

  private schedule(ms: number): void {
    clearTimeout(this.retryTimer);
    this.retryTimer = setTimeout(() => void this.open(), ms);
  }

  private drop(): void {
    this.attempt += 1;
    this.live = false;
    clearTimeout(this.helloTimer);
    const { socket } = this;
    this.socket = null;
    if (!socket) return;
    socket.onmessage = socket.onclose = null;
    try {
      socket.close(NORMAL_CLOSE);
    } catch {
      // It never opened.
    }
  }
}

function parsed(data: unknown): { type?: unknown } | null {
  if (typeof data !== "string") return null;
  try {
    const frame: unknown = JSON.parse(data);
    return typeof frame === "object" && frame !== null ? frame : null;
  } catch {
    return null;
  }
}
