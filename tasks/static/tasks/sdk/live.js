// Built from sdk/js (npm run build). Do not edit.

// src/backoff.ts
function backoff(failures, first, longest, random) {
  const whole = Math.min(longest, first * 1.7 ** Math.max(0, failures - 1));
  return whole * (0.25 + 0.75 * random());
}

// src/status.ts
function reasonOf(code) {
  if (code === 4401) return "unauthenticated";
  if (code === 4403) return "forbidden";
  if (code === 4400 || code === 4404) return "refused";
  return "unreachable";
}

// src/connection.ts
var STABLE_MS = 1e4;
var PING_AFTER_MS = 25e3;
var ANSWER_MS = 2500;
var REFUSED_MS = 15e3;
var NORMAL_CLOSE = 1e3;
var Connection = class {
  constructor(settings2, events) {
    this.settings = settings2;
    this.events = events;
    this.socket = null;
    this.wanted = false;
    this.live = false;
    this.failures = 0;
    this.liveAt = 0;
    this.heardAt = 0;
    this.askedAt = 0;
    /** Counts attempts, so that what belongs to an earlier one is ignored. */
    this.attempt = 0;
  }
  get isLive() {
    return this.live;
  }
  start() {
    if (this.wanted) return;
    this.wanted = true;
    void this.open();
  }
  stop() {
    this.wanted = false;
    clearTimeout(this.retryTimer);
    this.drop();
  }
  /** Tries again within `withinMs`, if it is waiting for its next attempt. */
  retrySoon(withinMs) {
    if (!this.wanted || this.socket || this.retryTimer === void 0) return;
    this.schedule(withinMs * this.settings.random());
  }
  /** Gives the connection up and makes a new one at once. */
  restart() {
    if (!this.wanted) return;
    this.failures = 0;
    const was = this.socket !== null;
    this.drop();
    if (was) this.events.onDown("");
    clearTimeout(this.retryTimer);
    void this.open();
  }
  /** False when there is no connection. */
  send(frame) {
    if (!this.live || !this.socket) return false;
    this.socket.send(JSON.stringify(frame));
    return true;
  }
  /** To be called about once a second: notices a connection that is open and dead. */
  check(quietMs) {
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
  ping() {
    if (this.send({ type: "ping" })) this.askedAt = Date.now();
  }
  async open() {
    this.retryTimer = void 0;
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
  async address() {
    const address = `${this.settings.url.replace(/^http/, "ws")}/ws`;
    if (!this.settings.ticket) return address;
    return `${address}?ticket=${encodeURIComponent(await this.settings.ticket())}`;
  }
  attach(socket, attempt) {
    this.socket = socket;
    socket.onmessage = (message) => {
      if (attempt === this.attempt) this.receive(message.data);
    };
    socket.onclose = (close) => this.down(reasonOf(close.code), attempt);
  }
  receive(data) {
    this.heardAt = Date.now();
    const frame = parsed(data);
    if (frame === null) return;
    if (frame.type === "hello" && !this.live) {
      clearTimeout(this.helloTimer);
      this.live = true;
      this.liveAt = this.heardAt;
      this.askedAt = 0;
      this.events.onLive(frame);
    } else if (this.live) {
      this.events.onFrame(frame);
    }
  }
  down(reason, attempt) {
    if (attempt !== this.attempt || !this.wanted) return;
    const stable = this.live && Date.now() - this.liveAt >= STABLE_MS;
    this.failures = stable ? 1 : this.failures + 1;
    this.drop();
    const { backoffMs, maxBackoffMs, random } = this.settings;
    const pause = backoff(this.failures, backoffMs, maxBackoffMs, random);
    const refused = reason === "forbidden" || reason === "refused" || reason === "unauthenticated" && !this.settings.ticket;
    this.schedule(refused ? Math.max(pause, REFUSED_MS) : pause);
    this.events.onDown(reason);
  }
  schedule(ms) {
    clearTimeout(this.retryTimer);
    this.retryTimer = setTimeout(() => void this.open(), ms);
  }
  drop() {
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
    }
  }
};
function parsed(data) {
  if (typeof data !== "string") return null;
  try {
    const frame = JSON.parse(data);
    return typeof frame === "object" && frame !== null ? frame : null;
  } catch {
    return null;
  }
}

// src/options.ts
function settings(options) {
  const dropFrames = options.dropFrames ?? 0;
  checkShare(dropFrames);
  return {
    url: absolute(options.url ?? "/live"),
    ticket: options.ticket,
    pollHeaders: options.pollHeaders,
    polling: options.polling ?? true,
    pollAfterMs: options.pollAfterMs ?? 2e3,
    pollEveryMs: options.pollEveryMs ?? 2e3,
    backoffMs: options.backoffMs ?? 1e3,
    maxBackoffMs: options.maxBackoffMs ?? 15e3,
    helloMs: options.helloMs ?? 1e4,
    stateEveryMs: options.stateEveryMs ?? 50,
    lingerMs: options.lingerMs ?? 250,
    dropFrames,
    WebSocket: options.WebSocket ?? globalThis.WebSocket,
    // Called through an arrow: a browser's own fetch refuses to be called as a method of something else.
    fetch: options.fetch ?? (globalThis.fetch && ((...args) => globalThis.fetch(...args))),
    random: options.random ?? Math.random
  };
}
function checkShare(share) {
  if (!(share >= 0 && share <= 1)) throw new TypeError(`dropFrames is a share between 0 and 1, not ${share}`);
}
function absolute(url) {
  const found = new URL(url, globalThis.location?.href ?? "http://localhost");
  if (!/^https?:$/.test(found.protocol)) throw new TypeError(`url is an http(s) address, not ${url}`);
  return found.href.replace(/\/+$/, "");
}

// src/poller.ts
var ANSWER_MS2 = 1e4;
var MOST_PAUSE_MS = 15e3;
var Poller = class {
  constructor(settings2, topics, onRound) {
    this.settings = settings2;
    this.topics = topics;
    this.onRound = onRound;
    this.running = false;
    this.failures = 0;
    this.round = 0;
    this.abort = null;
  }
  get isRunning() {
    return this.running;
  }
  start() {
    if (this.running || !this.settings.polling || !this.settings.fetch) return;
    this.running = true;
    this.failures = 0;
    void this.poll();
  }
  stop() {
    this.running = false;
    this.round += 1;
    clearTimeout(this.timer);
    this.abort?.abort();
  }
  /** The next round now, not when its time has come. */
  hurry() {
    if (!this.running || this.abort) return;
    clearTimeout(this.timer);
    void this.poll();
  }
  async poll() {
    const round = ++this.round;
    const abort = new AbortController();
    this.abort = abort;
    const patience = setTimeout(() => abort.abort(), ANSWER_MS2);
    const answers = [];
    for (const topic of this.topics()) {
      if (topic.refused) continue;
      const answer = await this.ask(topic, abort.signal, () => round === this.round);
      answers.push(answer);
      if (round !== this.round || answer === "unreachable") break;
    }
    clearTimeout(patience);
    if (round !== this.round) return;
    this.abort = null;
    const failed = answers.find((answer) => answer !== "good") ?? "";
    this.failures = failed ? this.failures + 1 : 0;
    this.timer = setTimeout(() => void this.poll(), this.pause());
    if (answers.length) this.onRound(failed === "", failed);
  }
  pause() {
    const { pollEveryMs, random } = this.settings;
    if (this.failures) return backoff(this.failures + 2, pollEveryMs / 2, MOST_PAUSE_MS, random);
    return pollEveryMs * (0.8 + 0.4 * random());
  }
  async ask(topic, signal, current) {
    try {
      const query = new URLSearchParams({ topic: topic.name, limit: String(topic.limit) });
      const headers = { Accept: "application/json", ...await this.settings.pollHeaders?.() };
      const options = { headers, signal, cache: "no-store", credentials: "same-origin" };
      const answer = await this.settings.fetch(`${this.settings.url}/poll?${query}`, options);
      if (answer.ok) {
        const snapshot = await answer.json();
        if (current()) topic.onSnapshot({ ...snapshot, seq: void 0 });
        return "good";
      }
      if (answer.status === 401) return "unauthenticated";
      if (answer.status >= 500 || answer.status === 429) return "unreachable";
      const told = await answer.json();
      const error = told.error ?? { code: `HTTP_${answer.status}`, message: answer.statusText };
      if (current()) topic.onError(error);
      return "good";
    } catch {
      return "unreachable";
    }
  }
};

// src/signal.ts
var Signal = class {
  constructor() {
    this.listeners = /* @__PURE__ */ new Set();
  }
  get size() {
    return this.listeners.size;
  }
  /** Returns the function that ends it. One function added twice is called twice. */
  add(listener) {
    const own = (value) => listener(value);
    this.listeners.add(own);
    return () => void this.listeners.delete(own);
  }
  emit(value) {
    for (const listener of [...this.listeners]) guarded(() => listener(value));
  }
};
function guarded(run) {
  try {
    run();
  } catch (error) {
    if (typeof globalThis.reportError === "function") globalThis.reportError(error);
    else console.error(error);
  }
}

// src/told.ts
var MOST_KEYS = 1e4;
var MOST_RUNS = 5e3;
var MOST_ENTITIES = 2e3;
var Told = class {
  constructor() {
    this.keys = /* @__PURE__ */ new Set();
    /** The last word on each job's runs; guessed: that one had ended, not when or how. */
    this.last = /* @__PURE__ */ new Map();
    this.entities = /* @__PURE__ */ new Set();
  }
  /** A run began; false when that was told. Without an instant it is always another one. */
  began(jobId, at) {
    if (at !== null && !remember(this.keys, `began ${jobId} ${at}`, MOST_KEYS)) return false;
    this.note(jobId, "began");
    return true;
  }
  /** A run ended; false when that was told. Only the last of a job has an instant: attempts before it have none. */
  ended(jobId, at, guessed = false) {
    const before = this.last.get(jobId);
    if (at !== null && !remember(this.keys, `ended ${jobId} ${at}`, MOST_KEYS)) return false;
    if (before === "guessed" || before === "ended" && at === null) return false;
    this.note(jobId, guessed ? "guessed" : "ended");
    return true;
  }
  /** An app told something; false when that was told. */
  entity(id) {
    return remember(this.entities, id, MOST_ENTITIES);
  }
  note(jobId, word) {
    this.last.delete(jobId);
    this.last.set(jobId, word);
    if (this.last.size > MOST_RUNS) this.last.delete(this.last.keys().next().value);
  }
};
function remember(seen, key, most) {
  if (seen.has(key)) return false;
  seen.add(key);
  if (seen.size > most) seen.delete(seen.values().next().value);
  return true;
}

// src/store.ts
var MOST_SLACK = 1.2;
var FINAL = /* @__PURE__ */ new Set(["completed", "failed", "cancelled"]);
function isEnded(status) {
  return FINAL.has(status);
}
function isOnItsWay({ status, reason }) {
  if (status === "running" || status === "waiting") return true;
  return (status === "pending" || status === "dispatched") && reason === "continuation";
}
var NAMES = {
  job_update: true,
  external_job_update: true,
  app_entity: true,
  apps_changed: true,
  suspensions_changed: true,
  job_run_started: true,
  job_run_ended: true,
  schedule_update: true,
  job_gone: true
};
var KNOWN = new Set(Object.keys(NAMES));
function isKnown(event) {
  return KNOWN.has(event.name);
}
var Store = class {
  constructor() {
    this.jobs = /* @__PURE__ */ new Map();
    this.external = /* @__PURE__ */ new Map();
    this.running = /* @__PURE__ */ new Map();
    this.told = new Told();
    /** Rows of which an event was told. */
    this.toldRows = /* @__PURE__ */ new WeakSet();
    this.trimAbove = 0;
    this.complete = false;
    this.hasSnapshot = false;
  }
  /** It has had a snapshot. */
  get filled() {
    return this.hasSnapshot;
  }
  /** Takes an event in; false when it told nothing new. */
  apply(event) {
    switch (event.name) {
      case "job_update":
        return this.putJob({ revision: event.revision, job: event.job });
      case "external_job_update":
        return this.putExternal(event.external);
      case "job_run_started": {
        const { app_id, job_type, job_id, started_at, actor } = event;
        const isOn = this.running.has(job_id);
        this.running.set(job_id, { app_id, job_type, job_id, started_at, actor });
        return this.told.began(job_id, started_at) && !isOn;
      }
      case "job_run_ended":
        this.running.delete(event.job_id);
        return this.told.ended(event.job_id, event.ended_at);
      case "app_entity":
        return this.told.entity(event.id);
      case "job_gone":
        this.running.delete(event.id);
        return this.jobs.delete(event.id);
      default:
        return true;
    }
  }
  /**
   * Takes a snapshot in, and returns the events that would have led to it. The first one tells none: it is not
   * news. `limit`: how many rows were asked for.
   */
  replace(snapshot, limit) {
    const news = [];
    const first = !this.hasSnapshot;
    const before = new Map(this.jobs);
    const complete = snapshot.complete ?? snapshot.jobs.length < limit;
    this.replaceJobs(snapshot.jobs, complete, news);
    if (snapshot.external) this.replaceExternal(snapshot.external, news);
    if (snapshot.running) {
      if (!first) this.tellWholeRuns(before, news);
      this.replaceRunning(snapshot.running, news);
    }
    for (const event of snapshot.events ?? []) if (this.told.entity(event.id)) news.push(event);
    this.hasSnapshot = true;
    this.complete = complete;
    this.trimAbove = 0;
    if (first) return news.filter((event) => event.name === "app_entity");
    for (const event of news) if (event.name === "job_update") this.toldRows.add(this.jobs.get(event.job.id));
    return news;
  }
  /**
   * Forgets jobs when there are many more than `most`: those first that ended longest ago, then the oldest that wait
   * for a run. What goes on is kept.
   */
  trim(most) {
    if (this.external.size > MOST_SLACK * most) trimExternal(this.external, most);
    if (this.jobs.size <= Math.max(this.trimAbove, MOST_SLACK * most)) return;
    const [ended, idle] = [[], []];
    for (const row of this.jobs.values()) {
      if (isEnded(row.job.status)) ended.push(row);
      else if (!isOnItsWay(row.job) && !this.running.has(row.job.id)) idle.push(row);
    }
    ended.sort((one, other) => (one.job.finished_at ?? "") < (other.job.finished_at ?? "") ? -1 : 1);
    idle.sort((one, other) => one.job.id < other.job.id ? -1 : 1);
    for (const row of [...ended, ...idle].slice(0, this.jobs.size - most)) this.jobs.delete(row.job.id);
    this.trimAbove = MOST_SLACK * this.jobs.size;
  }
  replaceJobs(rows, complete, news) {
    const before = new Map(this.jobs);
    this.jobs.clear();
    for (const row of rows) {
      const known = before.get(row.job.id);
      before.delete(row.job.id);
      const newer = !known || row.revision > known.revision;
      this.jobs.set(row.job.id, newer ? row : known);
      if (newer) news.push({ name: "job_update", ...row });
    }
    if (complete) for (const id of before.keys()) news.push({ name: "job_gone", id });
  }
  /** Runs that began and ended between two looks. */
  tellWholeRuns(before, news) {
    const newest = [...before.keys()].reduce((most, id) => id > most ? id : most, "");
    for (const { job } of this.jobs.values()) {
      if (!isEnded(job.status) || job.started_at === null || this.running.has(job.id)) continue;
      const known = before.get(job.id)?.job;
      const isSame = known?.started_at === job.started_at && !isOnItsWay(known);
      if (known ? isSame : !this.complete && job.id < newest) continue;
      const { app_id, job_type, id: job_id, started_at } = job;
      if (this.told.began(job_id, started_at) && !(known && isOnItsWay(known))) {
        news.push({ name: "job_run_started", app_id, job_type, job_id, started_at, actor: actorOf(job) });
      }
      this.tellEnd(endOf(job), news);
    }
  }
  tellEnd(event, news, guessed = false) {
    if (this.told.ended(event.job_id, event.ended_at, guessed)) news.push(event);
  }
  replaceRunning(rows, news) {
    const before = new Map(this.running);
    this.running.clear();
    for (const row of rows) {
      this.running.set(row.job_id, row);
      const fresh = this.told.began(row.job_id, row.started_at);
      if (!before.delete(row.job_id) && fresh) news.push({ name: "job_run_started", ...row });
    }
    for (const row of before.values()) {
      const { app_id, job_type, job_id } = row;
      const job = this.jobs.get(job_id)?.job;
      if (job && isOnItsWay(job)) this.running.set(job_id, row);
      else if (job) {
        this.told.began(job_id, job.started_at);
        this.tellEnd(endOf(job), news);
      } else {
        const how = { success: false, reason: "unknown", ended_at: null };
        this.tellEnd({ name: "job_run_ended", app_id, job_type, job_id, ...how }, news, true);
      }
    }
  }
  replaceExternal(rows, news) {
    const before = new Map(this.external);
    this.external.clear();
    for (const row of rows) {
      const known = before.get(keyOf(row));
      if (known) this.external.set(keyOf(row), known);
      if (this.putExternal(row)) news.push({ name: "external_job_update", external: row });
    }
  }
  putJob(row) {
    const known = this.jobs.get(row.job.id);
    if (known && known.revision > row.revision) return false;
    const told = known?.revision === row.revision && this.toldRows.has(known);
    this.jobs.set(row.job.id, row);
    this.toldRows.add(row);
    return !told;
  }
  putExternal(row) {
    const known = this.external.get(keyOf(row));
    if (known && (known.revision ?? 0) > (row.revision ?? 0)) return false;
    this.external.set(keyOf(row), row);
    return !known || known.revision !== row.revision || row.revision === void 0;
  }
};
function endOf({ app_id, job_type, id, status, reason, finished_at }) {
  const success = status === "completed";
  return { name: "job_run_ended", app_id, job_type, job_id: id, success, reason, ended_at: finished_at };
}
function actorOf({ user_id, schedule_id, app_id }) {
  if (user_id) return user_id;
  if (schedule_id) return `schedule:${schedule_id}`;
  return app_id && `app:${app_id}`;
}
function keyOf(row) {
  return `${row.app_id}:${row.job_id}`;
}
function trimExternal(rows, most) {
  const inOrder = [...rows];
  const ended = inOrder.filter(([, row]) => isEnded(row.status));
  const open = inOrder.filter(([, row]) => !isEnded(row.status));
  for (const [key] of [...ended, ...open].slice(0, rows.size - most)) rows.delete(key);
}

// src/topic.ts
var DEFAULT_LIMIT = 50;
var MOST_LIMIT = 1e3;
var MOST_KEPT = 2e3;
var REPLAY_MS = 400;
var REPLAYS = 3;
var SNAPSHOT_MS = 2e3;
var MOST_SHORT = 3;
var MOST_AHEAD = 500;
var SNAPSHOT_GAP_MS = 200;
var REFRESH_MS = 1e3;
var STRANGE_BEATS = 2;
var TRANSIENT = /* @__PURE__ */ new Set(["RATE_LIMITED", "UNAVAILABLE", "INTERNAL"]);
var Topic = class {
  constructor(name, sub, settings2, link) {
    this.name = name;
    this.sub = sub;
    this.settings = settings2;
    this.link = link;
    /** The server was asked for it on this connection, and did not refuse. */
    this.refused = null;
    this.listeners = /* @__PURE__ */ new Set();
    this.store = new Store();
    this.synced = false;
    this.epoch = "";
    /** The last event taken in; null while a snapshot is awaited. */
    this.seq = null;
    this.head = 0;
    this.ahead = /* @__PURE__ */ new Map();
    this.subscribed = false;
    this.asks = 0;
    this.askedLimit = 0;
    /** Of the newest rows, so many are surely held; all of them when that is `MOST_LIMIT`. */
    this.heldLimit = 0;
    /** Snapshots in a row that held fewer rows than were asked for, and not all. */
    this.short = 0;
    this.snapshotAt = 0;
    /** The id of the last `app_entity`: what was told while nobody listened is asked for by it. */
    this.lastEvent = "";
    this.strange = 0;
    this.changed = false;
  }
  get limit() {
    const asked = [...this.listeners].map((listener) => listener.limit ?? DEFAULT_LIMIT);
    return Math.min(MOST_LIMIT, Math.max(1, ...asked.length ? asked : [DEFAULT_LIMIT]));
  }
  get unused() {
    return this.listeners.size === 0;
  }
  get state() {
    const { jobs, external, running } = this.store;
    return { synced: this.synced, jobs, external, running };
  }
  add(listener) {
    this.listeners.add(listener);
    if (this.subscribed && !this.refused && this.limit > this.askedLimit) this.restart();
    queueMicrotask(() => {
      if (!this.listeners.has(listener)) return;
      if (this.refused) guarded(() => listener.onError?.(this.refused));
      else if (this.store.filled) guarded(() => listener.onState?.(this.state));
    });
  }
  remove(listener) {
    this.listeners.delete(listener);
  }
  /** Asks a connection for everything since the last event, or for a snapshot. */
  subscribe() {
    this.refused = null;
    const epoch = this.link.epoch;
    if (this.seq !== null && this.epoch === epoch && this.limit <= this.heldLimit) {
      this.request({ since: { epoch, seq: this.seq } });
    } else {
      this.restart();
    }
  }
  /** No beat has come: asks for whatever came after the last event, which the server may have told to nobody. */
  probe() {
    if (this.refused || this.seq === null) return;
    this.strange += 1;
    if (this.strange > STRANGE_BEATS) this.restart();
    else this.link.send({ type: "replay", sub: this.sub, after: this.seq });
  }
  /** The connection is gone: unless polls go on, what is shown may be old from here on. */
  disconnected(polled = false) {
    this.subscribed = false;
    this.settle();
    clearTimeout(this.refreshTimer);
    this.refreshTimer = void 0;
    if (!this.synced || polled) return;
    this.synced = false;
    this.tell();
  }
  /** Ends all of it. */
  dispose() {
    if (this.subscribed && !this.refused) this.link.send({ type: "unsubscribe", sub: this.sub });
    clearTimeout(this.askTimer);
    clearTimeout(this.stateTimer);
    clearTimeout(this.refreshTimer);
    this.listeners.clear();
  }
  onSnapshot(snapshot) {
    if (!Array.isArray(snapshot.jobs)) return;
    const news = this.store.replace(snapshot, this.limit);
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
  holdsEnough({ complete, jobs }) {
    const all = complete ?? jobs.length < this.limit;
    this.short = all || jobs.length >= this.limit ? 0 : this.short + 1;
    if (this.short % MOST_SHORT) return false;
    this.heldLimit = all ? MOST_LIMIT : this.limit;
    return true;
  }
  onEvent(seq, event) {
    if (this.seq === null) {
      this.keepAhead(seq, event);
      return;
    }
    if (seq <= this.seq) return;
    this.keepAhead(seq, event);
    this.drain();
  }
  /** The server's own count, told by a beat; undefined when it does not know the subscription. */
  onHead(head) {
    if (this.refused) return;
    if (this.seq === null) return;
    const strange = head === void 0 || head < this.seq;
    this.strange = strange ? this.strange + 1 : 0;
    if (strange) {
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
  resync() {
    this.forget();
    const rest = this.snapshotAt + SNAPSHOT_GAP_MS + this.limit - Date.now();
    if (rest <= 0) this.askSnapshot();
    else this.later(rest, () => this.askSnapshot());
  }
  restart() {
    this.forget();
    this.askSnapshot();
  }
  forget() {
    this.seq = null;
    this.head = 0;
    this.ahead.clear();
  }
  onError(error) {
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
      this.synced = false;
      this.tellNow();
    }
    for (const listener of [...this.listeners]) guarded(() => listener.onError?.(error));
  }
  drain() {
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
  keepAhead(seq, event) {
    this.ahead.set(seq, event);
    if (this.ahead.size <= MOST_AHEAD) return;
    if (this.seq !== null) this.restart();
    else this.ahead.delete(this.ahead.keys().next().value);
  }
  askMissing(progress = false) {
    if (progress) this.asks = 0;
    if (this.askTimer !== void 0) {
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
  askSnapshot() {
    if (!this.request({})) return;
    this.asks += 1;
    this.later(SNAPSHOT_MS * Math.min(5, this.asks), () => this.seq === null && this.askSnapshot());
  }
  request(more) {
    const { sub, name: topic, limit } = this;
    const after = this.lastEvent ? { after_event: this.lastEvent } : {};
    if (!this.link.send({ type: "subscribe", sub, topic, snapshot: true, limit, ...more, ...after })) return false;
    this.askedLimit = limit;
    this.subscribed = true;
    return true;
  }
  /** A server of another version told something that may be a change of what is shown. */
  refreshSoon() {
    if (!this.link.outdated || this.refreshTimer !== void 0) return;
    this.refreshTimer = setTimeout(() => {
      this.refreshTimer = void 0;
      this.restart();
    }, REFRESH_MS);
  }
  later(ms, run) {
    clearTimeout(this.askTimer);
    this.askTimer = setTimeout(() => {
      this.askTimer = void 0;
      run();
    }, ms);
  }
  settle() {
    clearTimeout(this.askTimer);
    this.askTimer = void 0;
    this.asks = 0;
  }
  emit(event) {
    for (const listener of [...this.listeners]) guarded(() => listener.onEvent?.(event));
  }
  tell() {
    this.changed = true;
    if (this.stateTimer !== void 0) return;
    this.tellNow();
    this.stateTimer = setTimeout(() => {
      this.stateTimer = void 0;
      if (this.changed) this.tell();
    }, this.settings.stateEveryMs);
  }
  tellNow() {
    this.changed = false;
    const state = this.state;
    for (const listener of [...this.listeners]) guarded(() => listener.onState?.(state));
  }
};

// src/wake.ts
var ASLEEP_MS = 5e3;
function watch(everyMs, tick, wake) {
  let last = Date.now();
  const timer = setInterval(() => {
    const passed = Date.now() - last;
    last = Date.now();
    if (passed > everyMs + ASLEEP_MS) wake();
    tick();
  }, everyMs);
  const shown = () => {
    if (globalThis.document?.visibilityState !== "hidden") wake();
  };
  const page = globalThis.document;
  const view = globalThis.window;
  page?.addEventListener("visibilitychange", shown);
  view?.addEventListener?.("online", wake);
  view?.addEventListener?.("pageshow", wakeIfKept);
  function wakeIfKept(event) {
    if (event.persisted) wake();
  }
  return () => {
    clearInterval(timer);
    page?.removeEventListener("visibilitychange", shown);
    view?.removeEventListener?.("online", wake);
    view?.removeEventListener?.("pageshow", wakeIfKept);
  };
}

// src/wire.ts
var WIRE_VERSION = 1;

// src/client.ts
var TICK_MS = 500;
var WAKE_SPREAD_MS = 300;
var QUIET_BEATS = 3;
var LiveClient = class {
  /** Nothing happens until `subscribe` or `connect`. */
  constructor(options = {}) {
    this.topics = /* @__PURE__ */ new Map();
    this.bySub = /* @__PURE__ */ new Map();
    this.lingers = /* @__PURE__ */ new Map();
    this.statuses = new Signal();
    this.told = { status: "connecting", reason: "", outdated: false };
    this.state = "idle";
    this.beatMs = 1e3;
    this.beatAt = 0;
    this.reason = "";
    this.tried = false;
    this.polled = false;
    this.subs = 0;
    this.dropped = 0;
    this.settings = settings(options);
    this.connection = new Connection(this.settings, {
      onLive: (hello) => this.onLive(hello),
      onFrame: (frame) => this.onFrame(frame),
      onDown: (reason) => this.onDown(reason)
    });
    this.link = { epoch: "", outdated: false, send: (frame) => this.connection.send(frame) };
    this.poller = new Poller(
      this.settings,
      () => [...this.topics.values()],
      (good, reason) => this.onPolled(good, reason)
    );
  }
  get status() {
    return this.told.status;
  }
  get statusEvent() {
    return this.told;
  }
  /** How many frames `dropFrames` has thrown away. */
  get framesDropped() {
    return this.dropped;
  }
  get dropFrames() {
    return this.settings.dropFrames;
  }
  /** May be changed while connected. Throws a TypeError unless it is between 0 and 1. */
  set dropFrames(share) {
    checkShare(share);
    this.settings.dropFrames = share;
  }
  /** Calls back now and at each change. Returns the function that ends it. */
  onStatus(listener) {
    const remove = this.statuses.add(listener);
    listener(this.told);
    return remove;
  }
  /**
   * Hears of a topic (`job:<id>`, `type:<app>:<job_type>`, `app:<app_id>`, `user:<user_id>`, `schedule:<id>`,
   * `jobs`, `system`). Several listeners of one topic share one subscription. Returns the function that ends it.
   */
  subscribe(name, listener) {
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
  connect() {
    if (this.state !== "idle") return;
    this.state = "started";
    this.unwatch = watch(TICK_MS, () => this.tick(), () => this.wake());
    this.connection.start();
    this.pollSoon();
  }
  /** Gives the connection up and makes a new one, without a pause. */
  reconnect() {
    if (this.state === "closed") this.state = "idle";
    if (this.state === "idle") this.connect();
    else this.connection.restart();
  }
  /** Ends the connection; subscriptions are kept for a `reconnect`. */
  close() {
    if (this.state === "closed") return;
    this.state = "closed";
    this.unwatch?.();
    clearTimeout(this.pollTimer);
    this.pollTimer = void 0;
    this.poller.stop();
    this.connection.stop();
    this.tried = this.polled = false;
    for (const topic of this.topics.values()) topic.disconnected();
    this.tell();
  }
  newTopic(name) {
    this.subs += 1;
    const topic = new Topic(name, `s${this.subs}`, this.settings, this.link);
    this.topics.set(name, topic);
    this.bySub.set(topic.sub, topic);
    queueMicrotask(() => {
      if (this.topics.get(name) !== topic) return;
      if (this.connection.isLive) topic.subscribe();
      else this.poller.hurry();
    });
    return topic;
  }
  leave(topic) {
    const end = () => {
      this.lingers.delete(topic.name);
      this.topics.delete(topic.name);
      this.bySub.delete(topic.sub);
      topic.dispose();
    };
    this.lingers.set(topic.name, setTimeout(end, this.settings.lingerMs));
  }
  onLive(hello) {
    this.link.epoch = String(hello.epoch);
    this.link.outdated = hello.version !== WIRE_VERSION;
    this.beatMs = 1e3 * (hello.beat_seconds > 0 ? hello.beat_seconds : 1);
    this.beatAt = Date.now();
    this.reason = "";
    this.tried = true;
    this.polled = false;
    clearTimeout(this.pollTimer);
    this.pollTimer = void 0;
    this.poller.stop();
    for (const topic of this.topics.values()) topic.subscribe();
    this.tell();
  }
  onFrame(frame) {
    if (this.settings.dropFrames > 0 && this.settings.random() < this.settings.dropFrames) {
      this.dropped += 1;
      return;
    }
    switch (frame.type) {
      case "event": {
        const { sub, seq, event } = frame;
        if (event && typeof seq === "number") this.bySub.get(sub)?.onEvent(seq, event);
        break;
      }
      case "snapshot": {
        const snapshot = frame;
        this.bySub.get(snapshot.sub ?? "")?.onSnapshot(snapshot);
        break;
      }
      case "beat":
        this.onBeat(frame.heads ?? {});
        break;
      case "resync":
        this.bySub.get(frame.sub ?? "")?.resync();
        break;
      case "error": {
        const { sub, code, message } = frame;
        if (sub) this.bySub.get(sub)?.onError({ code, message });
        break;
      }
    }
  }
  onBeat(heads) {
    this.beatAt = Date.now();
    for (const [sub, topic] of this.bySub) topic.onHead(heads[sub]);
  }
  onDown(reason) {
    this.reason = reason || this.reason;
    this.tried = true;
    for (const topic of this.topics.values()) topic.disconnected(this.polled);
    this.pollSoon();
    this.tell();
  }
  onPolled(good, reason) {
    if (good && !this.polled) this.connection.retrySoon(1e3);
    this.polled = good;
    if (!good) {
      this.reason = reason;
      for (const topic of this.topics.values()) topic.disconnected();
    }
    this.tried = true;
    this.tell();
  }
  pollSoon() {
    if (this.pollTimer !== void 0 || this.poller.isRunning) return;
    const { pollAfterMs, random } = this.settings;
    this.pollTimer = setTimeout(() => {
      this.pollTimer = void 0;
      if (!this.connection.isLive) this.poller.start();
    }, pollAfterMs * (0.75 + 0.5 * random()));
  }
  tick() {
    if (!this.connection.isLive) return;
    this.connection.check(this.topics.size ? QUIET_BEATS * this.beatMs : Number.POSITIVE_INFINITY);
    if (this.topics.size && Date.now() - this.beatAt > 1.5 * this.beatMs) {
      this.beatAt = Date.now();
      for (const topic of this.topics.values()) topic.probe();
    }
  }
  wake() {
    if (this.connection.isLive) {
      this.connection.ping();
      this.beatAt = Date.now();
      for (const topic of this.topics.values()) topic.subscribe();
    } else {
      this.connection.retrySoon(WAKE_SPREAD_MS);
      this.poller.hurry();
    }
  }
  tell() {
    const status = this.currentStatus();
    const reason = status === "lost" ? this.reason : "";
    const { told } = this;
    const { outdated } = this.link;
    if (told.status === status && told.reason === reason && told.outdated === outdated) return;
    this.told = { status, reason, outdated };
    this.statuses.emit(this.told);
  }
  currentStatus() {
    if (this.state === "closed") return "closed";
    if (this.connection.isLive) return "live";
    if (this.polled) return "polling";
    return this.tried ? "lost" : "connecting";
  }
};

// src/progress.ts
function tallies(jobs, options) {
  const found = /* @__PURE__ */ Object.create(null);
  for (const [entity, its] of bursts(jobs, options)) found[entity] = its[its.length - 1].tally;
  return found;
}
function bursts(jobs, options) {
  const byEntity = /* @__PURE__ */ new Map();
  for (const job of jobs) {
    const entity = options.resolveEntityId(job);
    if (entity === null || entity === void 0) continue;
    const known = byEntity.get(entity);
    if (known) known.push(job);
    else byEntity.set(entity, [job]);
  }
  const made = (its) => ({ key: its[0].id, tally: tally(its) });
  return new Map([...byEntity].map(([entity, its]) => [entity, chained(its).map(made)]));
}
function chained(jobs) {
  const lives = jobs.map((job) => ({ job, from: instant(job.created_at, 0), to: endOf2(job) }));
  lives.sort((one, other) => one.from - other.from || (one.job.id < other.job.id ? -1 : 1));
  const chains = [];
  let until = Number.NEGATIVE_INFINITY;
  for (const { job, from, to } of lives) {
    const last = chains[chains.length - 1];
    if (last && from <= until) last.push(job);
    else chains.push([job]);
    until = Math.max(until, to);
  }
  return chains;
}
function endOf2(job) {
  return isEnded(job.status) ? instant(job.finished_at, 0) : Number.POSITIVE_INFINITY;
}
function instant(text, otherwise) {
  const found = text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(found) ? otherwise : found;
}
function tally(jobs) {
  const found = { isActive: false, total: jobs.length, completed: 0, running: 0, pending: 0, failed: 0, cancelled: 0 };
  let share = 0;
  for (const { status, progress } of jobs) {
    if (status === "completed" || status === "failed" || status === "cancelled") {
      found[status] += 1;
      share += 1;
      continue;
    }
    found.isActive = true;
    if (status === "running" || status === "waiting") found.running += 1;
    else found.pending += 1;
    share += Math.min(1, Math.max(0, (progress?.pct ?? 0) / 100));
  }
  return { ...found, pct: Math.round(1e3 * share / jobs.length) / 10 };
}

// src/ticket.ts
async function sessionTicket(options = {}) {
  const answer = await fetch(`${options.url ?? "/live"}/ticket`, {
    method: "POST",
    credentials: "same-origin",
    headers: { "Content-Type": "application/json", "X-CSRFToken": options.csrfToken ?? cookie("csrftoken") },
    body: JSON.stringify(options.topics ? { topics: options.topics } : {})
  });
  if (!answer.ok) throw new Error(`No ticket: the server answered ${answer.status}.`);
  return (await answer.json()).ticket;
}
function cookie(name) {
  const found = document.cookie.split("; ").find((each) => each.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
}
export {
  LiveClient,
  WIRE_VERSION,
  backoff,
  bursts,
  isEnded,
  sessionTicket,
  tallies
};
