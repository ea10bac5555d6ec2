import { Connection } from "./connection.js";
import { checkShare, type LiveOptions, type Settings, settings } from "./options.js";
import { Poller } from "./poller.js";
import { Signal } from "./signal.js";
import type { LostReason, Status, StatusEvent } from "./status.js";
import { Topic, type TopicListener } from "./topic.js";
import { watch } from "./wake.js";
import { type Beat, type ClientFrame, type ErrorFrame, type EventFrame, type Hello, type Snapshot, WIRE_VERSION } from "./wire.js";

const TICK_MS = 500;
const WAKE_SPREAD_MS = 300;
const QUIET_BEATS = 3;

/**
 * Live jobs of one server. Connects with the first subscription, comes back by itself, and shows what the
 * database holds whatever was lost on the way.
 */
export class LiveClient {
  private readonly settings: Settings;
  private readonly connection: Connection;
  private readonly poller: Poller;
  private readonly topics = new Map<string, Topic>();
  private readonly bySub = new Map<string, Topic>();
  private readonly lingers = new Map<string, ReturnType<typeof setTimeout>>();
  private readonly statuses = new Signal<StatusEvent>();
  private told: StatusEvent = { status: "connecting", reason: "", outdated: false };
  private state: "idle" | "started" | "closed" = "idle";
  private readonly link: { epoch: string; outdated: boolean; send: (frame: ClientFrame) => boolean };
  private beatMs = 1000;
  private beatAt = 0;
  private reason: LostReason = "";
  private tried = false;
  private polled = false;
  private subs = 0;
  private pollTimer: ReturnType<typeof setTimeout> | undefined;
  private unwatch: (() => void) | undefined;
  private dropped = 0;

  /** Nothing happens until `subscribe` or `connect`. */
  constructor(options: LiveOptions = {}) {
    this.settings = settings(options);
    this.connection = new Connection(this.settings, {
      onLive: (hello) => this.onLive(hello),
      onFrame: (frame) => this.onFrame(frame),
      onDown: (reason) => this.onDown(reason),
    });
    this.link = { epoch: "", outdated: false, send: (frame) => this.connection.send(frame) };
    this.poller = new Poller(
      this.settings,
      () => [...this.topics.values()],
      (good, reason) => this.onPolled(good, reason),
    );
  }

  get status(): Status {
    return this.told.status;
  }

  get statusEvent(): StatusEvent {
    return this.told;
  }

  /** How many frames `dropFrames` has thrown away. */
  get framesDropped(): number {
    return this.dropped;
  }

  get dropFrames(): number {
    return this.settings.dropFrames;
  }

  /** May be changed while connected. Throws a TypeError unless it is between 0 and 1. */
  set dropFrames(share: number) {
    checkShare(share);
    this.settings.dropFrames = share;
  }

  /** Calls back now and at each change. Returns the function that ends it. */
  onStatus(listener: (event: StatusEvent) => void): () => void {
    const remove = this.statuses.add(listener);
    listener(this.told);
    return remove;
  }

  /**
   * Hears of a topic (`job:<id>`, `type:<app>:<job_type>`, `app:<app_id>`, `user:<user_id>`, `schedule:<id>`,
   * `jobs`, `system`). Several listeners of one topic share one subscription. Returns the function that ends it.
   */
  subscribe(name: string, listener: TopicListener): () => void {
    const topic = this.topics.get(name) ?? this.newTopic(name);
    clearTimeout(this.lingers.get(name));
    this.lingers.delete(name);
    const own = { ...listener };
    topic.add(own);
    this.connect();
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      topic.remove(own);
      if (topic.unused) this.leave(topic);
    };
  }

  /** Connects now, not with the first subscription. */
  connect(): void {
    if (this.state !== "idle") return;
    this.state = "started";
    this.unwatch = watch(TICK_MS, () => this.tick(), () => this.wake());
    this.connection.start();
    this.pollSoon();
  }

  /** Gives the connection up and makes a new one, without a pause. */
  reconnect(): void {
    if (this.state === "closed") this.state = "idle";
    if (this.state === "idle") this.connect();
    else this.connection.restart();
  }

  /** Ends the connection; subscriptions are kept for a `reconnect`. */
  close(): void {
    if (this.state === "closed") return;
    this.state = "closed";
    this.unwatch?.();
    clearTimeout(this.pollTimer);
    this.pollTimer = undefined;
    this.poller.stop();
    this.connection.stop();
    this.tried = this.polled = false;
    for (const topic of this.topics.values()) topic.disconnected();
    this.tell();
  }

  private newTopic(name: string): Topic {
    this.subs += 1;
    const topic = new Topic(name, `s${this.subs}`, this.settings, this.link);
    this.topics.set(name, topic);
    this.bySub.set(topic.sub, topic);
    // After the caller has added its listener: the limit is that of the listeners.
    queueMicrotask(() => {
      if (this.topics.get(name) !== topic) return;
      if (this.connection.isLive) topic.subscribe();
      else this.poller.hurry();
    });
    return topic;
  }

  private leave(topic: Topic): void {
    const end = () => {
      this.lingers.delete(topic.name);
      this.topics.delete(topic.name);
      this.bySub.delete(topic.sub);
      topic.dispose();
    };
    this.lingers.set(topic.name, setTimeout(end, this.settings.lingerMs));
  }

  private onLive(hello: Hello): void {
    this.link.epoch = String(hello.epoch);
    this.link.outdated = hello.version !== WIRE_VERSION;
    this.beatMs = 1000 * (hello.beat_seconds > 0 ? hello.beat_seconds : 1);
    this.beatAt = Date.now();
    this.reason = "";
    this.tried = true;
    this.polled = false;
    clearTimeout(this.pollTimer);
    this.pollTimer = undefined;
    this.poller.stop();
    for (const topic of this.topics.values()) topic.subscribe();
    this.tell();
  }

  private onFrame(frame: { type?: unknown }): void {
    if (this.settings.dropFrames > 0 && this.settings.random() < this.settings.dropFrames) {
      this.dropped += 1;
      return;
    }
    switch (frame.type) {
      case "event": {
        const { sub, seq, event } = frame as EventFrame;
        if (event && typeof seq === "number") this.bySub.get(sub)?.onEvent(seq, event);
        break;
      }
      case "snapshot": {
        const snapshot = frame as Snapshot;
        this.bySub.get(snapshot.sub ?? "")?.onSnapshot(snapshot);
        break;
      }
      case "beat":
        this.onBeat((frame as Beat).heads ?? {});
        break;
      case "resync":
        this.bySub.get((frame as { sub?: string }).sub ?? "")?.resync();
        break;
      case "error": {
        const { sub, code, message } = frame as ErrorFrame;
        if (sub) this.bySub.get(sub)?.onError({ code, message });
        break;
      }
      // A newer server may send what this client has no name for.
    }
  }

  private onBeat(heads: Record<string, number>): void {
    this.beatAt = Date.now();
    for (const [sub, topic] of this.bySub) topic.onHead(heads[sub]);
  }

  private onDown(reason: LostReason): void {
    this.reason = reason || this.reason;
    this.tried = true;
    for (const topic of this.topics.values()) topic.disconnected(this.polled);
    this.pollSoon();
    this.tell();
  }

  private onPolled(good: boolean, reason: LostReason): void {
    // The server is there again: no need to wait for the end of a long pause.
    if (good && !this.polled) this.connection.retrySoon(1000);
    this.polled = good;
    if (!good) {
      this.reason = reason;
      for (const topic of this.topics.values()) topic.disconnected();
    }
    this.tried = true;
    this.tell();
  }

  private pollSoon(): void {
    if (this.pollTimer !== undefined || this.poller.isRunning) return;
    const { pollAfterMs, random } = this.settings;
    this.pollTimer = setTimeout(() => {
      this.pollTimer = undefined;
      if (!this.connection.isLive) this.poller.start();
    }, pollAfterMs * (0.75 + 0.5 * random()));
  }

  private tick(): void {
    if (!this.connection.isLive) return;
    this.connection.check(this.topics.size ? QUIET_BEATS * this.beatMs : Number.POSITIVE_INFINITY);
    // A beat may be lost like everything else.
    if (this.topics.size && Date.now() - this.beatAt > 1.5 * this.beatMs) {
      this.beatAt = Date.now();
      for (const topic of this.topics.values()) topic.probe();
    }
  }

  private wake(): void {
    if (this.connection.isLive) {
      this.connection.ping();
      this.beatAt = Date.now();
      for (const topic of this.topics.values()) topic.subscribe();
    } else {
      this.connection.retrySoon(WAKE_SPREAD_MS);
      this.poller.hurry();
    }
  }

  private tell(): void {
    const status = this.currentStatus();
    const reason = status === "lost" ? this.reason : "";
    const { told } = this;
    const { outdated } = this.link;
    if (told.status === status && told.reason === reason && told.outdated === outdated) return;
    this.told = { status, reason, outdated };
    this.statuses.emit(this.told);
  }

  private currentStatus(): Status {
    if (this.state === "closed") return "closed";
    if (this.connection.isLive) return "live";
    if (this.polled) return "polling";
    return this.tried ? "lost" : "connecting";
  }
}
