import { Told } from "./told.js";
import type { ExternalJob, JobOutput, JobRow, JobRunEnded, LiveEvent, RunningJob, Snapshot } from "./wire.js";

/** What is known of a topic. The maps are the client's own: read them, do not change them. */
export interface TopicState {
  /** False until the first snapshot, and while a lost connection may have hidden something. */
  readonly synced: boolean;
  readonly jobs: ReadonlyMap<string, JobRow>;
  /** By `app_id` and `job_id`, joined by a colon. */
  readonly external: ReadonlyMap<string, ExternalJob>;
  readonly running: ReadonlyMap<string, RunningJob>;
}

/** So many times more than it shall hold is looked through for what may go. */
const MOST_SLACK = 1.2;
const FINAL = new Set(["completed", "failed", "cancelled"]);

/** Whether a status is an end. */
export function isEnded(status: string): boolean {
  return FINAL.has(status);
}

/** Whether a run of the job goes on, if only after its children have ended. */
function isOnItsWay({ status, reason }: JobOutput): boolean {
  if (status === "running" || status === "waiting") return true;
  return (status === "pending" || status === "dispatched") && reason === "continuation";
}

const NAMES: Record<LiveEvent["name"], true> = {
  job_update: true,
  external_job_update: true,
  app_entity: true,
  apps_changed: true,
  suspensions_changed: true,
  job_run_started: true,
  job_run_ended: true,
  schedule_update: true,
  job_gone: true,
};
const KNOWN = new Set<unknown>(Object.keys(NAMES));

/** Whether this client has a name for it; what a newer server tells beyond that is ignored. */
export function isKnown(event: LiveEvent): boolean {
  return KNOWN.has(event.name);
}

/** The rows of one topic. Never goes back: a row older than the one it has is ignored. */
export class Store {
  readonly jobs = new Map<string, JobRow>();
  readonly external = new Map<string, ExternalJob>();
  readonly running = new Map<string, RunningJob>();
  private readonly told = new Told();
  /** Rows of which an event was told. */
  private readonly toldRows = new WeakSet<JobRow>();
  private trimAbove = 0;
  private complete = false;
  private hasSnapshot = false;

  /** It has had a snapshot. */
  get filled(): boolean {
    return this.hasSnapshot;
  }

  /** Takes an event in; false when it told nothing new. */
  apply(event: LiveEvent): boolean {
    switch (event.name) {
      case "job_update":
        return this.putJob({ revision: event.revision, job: event.job });
      case "external_job_update":
        return this.putExternal(event.external);
      case "job_run_started": {
        const { app_id, job_type, job_id, started_at, actor } = event;
        // A run that goes on after its children have ended is the same run.
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
  replace(snapshot: Snapshot, limit: number): LiveEvent[] {
    const news: LiveEvent[] = [];
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
    for (const event of news) if (event.name === "job_update") this.toldRows.add(this.jobs.get(event.job.id)!);
    return news;
  }

  /**
   * Forgets jobs when there are many more than `most`: those first that ended longest ago, then the oldest that wait
   * for a run. What goes on is kept.
   */
  trim(most: number): void {
    if (this.external.size > MOST_SLACK * most) trimExternal(this.external, most);
    if (this.jobs.size <= Math.max(this.trimAbove, MOST_SLACK * most)) return;
    const [ended, idle]: [JobRow[], JobRow[]] = [[], []];
    for (const row of this.jobs.values()) {
      if (isEnded(row.job.status)) ended.push(row);
      else if (!isOnItsWay(row.job) && !this.running.has(row.job.id)) idle.push(row);
    }
    ended.sort((one, other) => ((one.job.finished_at ?? "") < (other.job.finished_at ?? "") ? -1 : 1));
    // Ids grow with time.
    idle.sort((one, other) => (one.job.id < other.job.id ? -1 : 1));
    for (const row of [...ended, ...idle].slice(0, this.jobs.size - most)) this.jobs.delete(row.job.id);
    // What cannot be forgotten is not looked through again at each event.
    this.trimAbove = MOST_SLACK * this.jobs.size;
  }

  private replaceJobs(rows: JobRow[], complete: boolean, news: LiveEvent[]): void {
    const before = new Map(this.jobs);
    this.jobs.clear();
    for (const row of rows) {
      const known = before.get(row.job.id);
      before.delete(row.job.id);
      const newer = !known || row.revision > known.revision;
      this.jobs.set(row.job.id, newer ? row : known);
      if (newer) news.push({ name: "job_update", ...row });
    }
    // Of a snapshot that was cut off, what it lacks may be there still; but nobody tells what became of it.
    if (complete) for (const id of before.keys()) news.push({ name: "job_gone", id });
  }

  /** Runs that began and ended between two looks. */
  private tellWholeRuns(before: ReadonlyMap<string, JobRow>, news: LiveEvent[]): void {
    const newest = [...before.keys()].reduce((most, id) => (id > most ? id : most), "");
    for (const { job } of this.jobs.values()) {
      if (!isEnded(job.status) || job.started_at === null || this.running.has(job.id)) continue;
      const known = before.get(job.id)?.job;
      // An old job may come into sight because a newer one is gone; ids grow with time.
      const isSame = known?.started_at === job.started_at && !isOnItsWay(known);
      if (known ? isSame : !this.complete && job.id < newest) continue;
      const { app_id, job_type, id: job_id, started_at } = job;
      if (this.told.began(job_id, started_at) && !(known && isOnItsWay(known))) {
        news.push({ name: "job_run_started", app_id, job_type, job_id, started_at, actor: actorOf(job) });
      }
      this.tellEnd(endOf(job), news);
    }
  }

  private tellEnd(event: JobRunEnded, news: LiveEvent[], guessed = false): void {
    if (this.told.ended(event.job_id, event.ended_at, guessed)) news.push(event);
  }

  private replaceRunning(rows: RunningJob[], news: LiveEvent[]): void {
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
      // While its children run, and until what follows them has ended, it is the same run.
      if (job && isOnItsWay(job)) this.running.set(job_id, row);
      else if (job) {
        this.told.began(job_id, job.started_at);
        this.tellEnd(endOf(job), news);
      } else {
        // Gone from sight with its job: nobody knows how it ended.
        const how = { success: false, reason: "unknown", ended_at: null };
        this.tellEnd({ name: "job_run_ended", app_id, job_type, job_id, ...how }, news, true);
      }
    }
  }

  private replaceExternal(rows: ExternalJob[], news: LiveEvent[]): void {
    const before = new Map(this.external);
    this.external.clear();
    for (const row of rows) {
      const known = before.get(keyOf(row));
      if (known) this.external.set(keyOf(row), known);
      if (this.putExternal(row)) news.push({ name: "external_job_update", external: row });
    }
  }

  private putJob(row: JobRow): boolean {
    const known = this.jobs.get(row.job.id);
    if (known && known.revision > row.revision) return false;
    const told = known?.revision === row.revision && this.toldRows.has(known);
    this.jobs.set(row.job.id, row);
    this.toldRows.add(row);
    return !told;
  }

  private putExternal(row: ExternalJob): boolean {
    const known = this.external.get(keyOf(row));
    if (known && (known.revision ?? 0) > (row.revision ?? 0)) return false;
    this.external.set(keyOf(row), row);
    return !known || known.revision !== row.revision || row.revision === undefined;
  }
}

function endOf({ app_id, job_type, id, status, reason, finished_at }: JobOutput): JobRunEnded {
  const success = status === "completed";
  return { name: "job_run_ended", app_id, job_type, job_id: id, success, reason, ended_at: finished_at };
}

/** Who asked for a job, as the server says it of a run. */
function actorOf({ user_id, schedule_id, app_id }: JobOutput): string {
  if (user_id) return user_id;
  if (schedule_id) return `schedule:${schedule_id}`;
  return app_id && `app:${app_id}`;
}

function keyOf(row: ExternalJob): string {
  return `${row.app_id}:${row.job_id}`;
}

function trimExternal(rows: Map<string, ExternalJob>, most: number): void {
  const inOrder = [...rows];
  const ended = inOrder.filter(([, row]) => isEnded(row.status));
  const open = inOrder.filter(([, row]) => !isEnded(row.status));
  for (const [key] of [...ended, ...open].slice(0, rows.size - most)) rows.delete(key);
}
