import type { LiveOptions } from "../src/options";
import type { AppEntity, ClientFrame, JobOutput, JobRow, LiveEvent, RunningJob, ServerFrame, Snapshot } from "../src/wire";

const KEPT = 100;

interface Stream {
  seq: number;
  kept: Map<number, LiveEvent>;
  jobs: Map<string, JobRow>;
  running: Map<string, RunningJob>;
}

/** A server of the live wire, in this process. Frames arrive one macrotask later, as over a network. */
export class FakeServer {
  epoch = "one";
  version = 1;
  /** Connections are refused, as by a proxy that knows no WebSocket. */
  blocked = false;
  /** A poll is not answered either. */
  away = false;
  /** Connections open and say nothing. */
  mute = false;
  missedEvents: AppEntity[] = [];
  /** What snapshots and polls carry beside. */
  more: Partial<Snapshot> = {};
  refusals = new Map<string, { code: string; message: string }>();
  attempts: number[] = [];
  addresses: string[] = [];
  polls: string[] = [];
  received: ClientFrame[] = [];
  sockets = new Set<FakeSocket>();
  /** Frames of these types, or for which this is true, never arrive. */
  lose: (frame: ServerFrame) => boolean = () => false;
  /** Every run of a test is the same. */
  readonly random = dice(7);
  private readonly streams = new Map<string, Stream>();
  private readonly beats = setInterval(() => this.beat(), 1000);

  options(more: LiveOptions = {}): LiveOptions {
    const server = this;
    class Socket extends FakeSocket {
      constructor(url: string) {
        super(server, url);
      }
    }
    const fetch = ((url: string) => this.answer(url)) as unknown as typeof globalThis.fetch;
    const WebSocket = Socket as unknown as new (url: string) => WebSocket;
    return { WebSocket, fetch, random: this.random, ...more };
  }

  stop(): void {
    clearInterval(this.beats);
  }

  /** Writes a row and tells it, on each of the topics. */
  put(topics: string | string[], job: Partial<JobOutput> & { id: string }, revision: number): void {
    const row = { revision, job: makeJob(job) };
    for (const topic of [topics].flat()) {
      this.stream(topic).jobs.set(job.id, row);
      this.tell(topic, { name: "job_update", ...row });
    }
  }

  /** Writes a row and tells nobody. */
  putQuietly(topic: string, job: Partial<JobOutput> & { id: string }, revision: number): void {
    this.stream(topic).jobs.set(job.id, { revision, job: makeJob(job) });
  }

  runs(topic: string, id: string, running: boolean): void {
    const row = { app_id: "", job_type: "t", job_id: id, started_at: null, actor: "ann" };
    if (running) this.stream(topic).running.set(id, row);
    else this.stream(topic).running.delete(id);
  }

  tell(topic: string, event: LiveEvent): void {
    const stream = this.stream(topic);
    stream.seq += 1;
    stream.kept.set(stream.seq, event);
    stream.kept.delete(stream.seq - KEPT);
    for (const socket of this.sockets) socket.tell(topic, stream.seq, event);
  }

  /** What this process knows of sequence numbers is gone, and so are its connections. */
  restart(epoch: string): void {
    this.epoch = epoch;
    for (const stream of this.streams.values()) {
      stream.seq = 0;
      stream.kept.clear();
    }
    this.cut();
  }

  cut(code = 1006): void {
    for (const socket of [...this.sockets]) socket.end(code);
  }

  /** The connections of now stay open, and nothing comes through any more. */
  freeze(): void {
    for (const socket of this.sockets) socket.frozen = true;
  }

  asked(type: string): ClientFrame[] {
    return this.received.filter((frame) => frame.type === type);
  }

  stream(topic: string): Stream {
    const known = this.streams.get(topic);
    if (known) return known;
    const made = { seq: 0, kept: new Map(), jobs: new Map(), running: new Map() };
    this.streams.set(topic, made);
    return made;
  }

  snapshot(topic: string, limit: number): Snapshot {
    const { jobs, running } = this.stream(topic);
    return {
      type: "snapshot",
      complete: jobs.size <= limit,
      jobs: [...jobs.values()].reverse().slice(0, limit),
      external: [],
      running: [...running.values()],
      ...this.more,
    };
  }

  private beat(): void {
    for (const socket of this.sockets) socket.beat();
  }

  private async answer(url: string): Promise<Response> {
    const query = new URL(url).searchParams;
    const topic = query.get("topic") ?? "";
    this.polls.push(topic);
    if (this.away) throw new TypeError("Failed to fetch");
    const refusal = this.refusals.get(topic);
    if (refusal) return Response.json({ error: refusal }, { status: 403 });
    return Response.json(this.snapshot(topic, Number(query.get("limit"))));
  }
}

export class FakeSocket {
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: ((close: { code: number }) => void) | null = null;
  private readonly topics = new Map<string, string>();
  frozen = false;
  private open = false;

  constructor(
    private readonly server: FakeServer,
    url: string,
  ) {
    server.attempts.push(Date.now());
    server.addresses.push(url);
    setTimeout(() => {
      if (server.blocked || server.away) {
        this.onclose?.({ code: 1006 });
        return;
      }
      this.open = true;
      server.sockets.add(this);
      if (server.mute) return;
      this.push({ type: "hello", version: server.version, epoch: server.epoch, beat_seconds: 1 });
    }, 1);
  }

  send(text: string): void {
    const frame = JSON.parse(text) as ClientFrame;
    if (!this.open) return;
    this.server.received.push(frame);
    setTimeout(() => this.handle(frame), 1);
  }

  close(): void {
    this.open = false;
    this.server.sockets.delete(this);
  }

  end(code: number): void {
    this.close();
    this.onclose?.({ code });
  }

  tell(topic: string, seq: number, event: LiveEvent): void {
    for (const [sub, name] of this.topics) if (name === topic) this.push({ type: "event", sub, seq, event });
  }

  beat(): void {
    if (!this.topics.size) return;
    const heads: Record<string, number> = {};
    for (const [sub, topic] of this.topics) heads[sub] = this.server.stream(topic).seq;
    this.push({ type: "beat", heads });
  }

  /** A frame as it is on the wire, whatever it is. */
  push(frame: ServerFrame | Record<string, unknown>): void {
    if (this.server.mute || this.frozen || this.server.lose(frame as ServerFrame)) return;
    setTimeout(() => this.open && this.onmessage?.({ data: JSON.stringify(frame) }), 1);
  }

  private handle(frame: ClientFrame): void {
    if (!this.open) return;
    if (frame.type === "ping") this.push({ type: "pong" });
    else if (frame.type === "unsubscribe") this.topics.delete(frame.sub);
    else if (frame.type === "replay") this.replay(frame.sub, frame.after);
    else this.subscribe(frame);
  }

  private subscribe(frame: Extract<ClientFrame, { type: "subscribe" }>): void {
    const { sub, topic, since, limit, after_event } = frame;
    const refusal = this.server.refusals.get(topic);
    if (refusal) {
      this.push({ type: "error", sub, ...refusal });
      return;
    }
    this.topics.set(sub, topic);
    if (since?.epoch === this.server.epoch && this.covers(topic, since.seq)) this.replay(sub, since.seq);
    else {
      const events = after_event === undefined ? {} : { events: this.server.missedEvents };
      this.push({ ...this.server.snapshot(topic, limit), ...events, sub, seq: this.server.stream(topic).seq });
    }
  }

  private replay(sub: string, after: number): void {
    const topic = this.topics.get(sub);
    if (topic === undefined) return;
    if (!this.covers(topic, after)) {
      this.push({ type: "resync", sub });
      return;
    }
    const { kept, seq: head } = this.server.stream(topic);
    for (let seq = after + 1; seq <= head; seq++) this.push({ type: "event", sub, seq, event: kept.get(seq)! });
  }

  private covers(topic: string, after: number): boolean {
    const { seq, kept } = this.server.stream(topic);
    return after <= seq && (after === seq || kept.has(after + 1));
  }
}

export function makeJob(job: Partial<JobOutput> & { id: string }): JobOutput {
  return {
    app_id: "",
    job_type: "t",
    status: "running",
    reason: "",
    cause: "",
    attempt: 1,
    lease: 1,
    priority: 100,
    queue: "default",
    user_id: "",
    tenant_id: "",
    params: {},
    data: {},
    progress: { done: null, total: null, label: "", pct: null, eta_seconds: null },
    result: null,
    error: null,
    parent_id: null,
    alias_job_id: null,
    dedupe_key: null,
    schedule_id: null,
    planned_at: null,
    run_after: null,
    created_at: "2026-01-01T12:00:00Z",
    started_at: null,
    finished_at: null,
    ...job,
  };
}

/** Numbers between 0 and 1, the same ones for the same seed. */
export function dice(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 16807) % 2147483647) / 2147483647;
}
