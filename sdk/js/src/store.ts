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

const FINAL = new Set(["completed", "failed", "cancelled"]);

/** Whether a status is an end. */
export function isEnded(status: string): boolean {
  return FINAL.has(status);
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
        const fresh = !this.running.has(job_id);
        this.running.set(job_id, { app_id, job_type, job_id, started_at, actor });
        return fresh;
      }
      case "job_run_ended":
        this.running.delete(event.job_id);
        return true;
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
    const before = new Map(this.jobs);
    const complete = snapshot.complete ?? snapshot.jobs.length < limit;
    this.replaceJobs(snapshot.jobs, complete, news);
    if (snapshot.external) this.replaceExternal(snapshot.external, news);
    if (snapshot.running) {
      this.tellWholeRuns(before, news);
      this.replaceRunning(snapshot.running, news);
    }
    const first = !this.hasSnapshot;
    this.hasSnapshot = true;
    this.complete = complete;
    return first ? [] : news;
  }

  /** Forgets ended jobs when there are many more than `most`, those first that ended longest ago. */
  trim(most: number): void {
    if (this.jobs.size <= 1.2 * most) return;
    const ended = [...this.jobs.values()].filter((row) => isEnded(row.job.status));
    ended.sort((one, other) => ((one.job.finished_at ?? "") < (other.job.finished_at ?? "") ? -1 : 1));
    for (const row of ended.slice(0, this.jobs.size - most)) this.jobs.delete(row.job.id);
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
      if (known ? known.lease === job.lease && isEnded(known.status) : !this.complete && job.id < newest) continue;
      const { app_id, job_type, id: job_id, started_at } = job;
      if (known?.status !== "running" && known?.status !== "waiting") {
        news.push({ name: "job_run_started", app_id, job_type, job_id, started_at, actor: actorOf(job) });
      }
      news.push(endOf(job));
    }
  }

  private replaceRunning(rows: RunningJob[], news: LiveEvent[]): void {
    const before = new Map(this.running);
    this.running.clear();
    for (const row of rows) {
      this.running.set(row.job_id, row);
      if (!before.delete(row.job_id)) news.push({ name: "job_run_started", ...row });
    }
    for (const row of before.values()) {
      const { app_id, job_type, job_id } = row;
      const job = this.jobs.get(job_id)?.job;
      if (job?.status === "waiting") this.running.set(job_id, row); // on its way still, while its children run
      else if (job) news.push(endOf(job));
      else news.push({ name: "job_run_ended", app_id, job_type, job_id, success: false, reason: "unknown", ended_at: null });
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
    this.jobs.set(row.job.id, row);
    return true;
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
