// Made from live.schema.json by `npm run types`. Do not edit.

/** The version of the wire that these types speak. */
export const WIRE_VERSION = 1;

/** Something that an app tells one user; the platform does not read `payload`. */
export interface AppEntity {
  name: "app_entity";
  id: string;
  app_id: string;
  kind: string;
  scope: string;
  payload: unknown;
}

/** An app was added, changed or removed. */
export interface AppsChanged {
  name: "apps_changed";
  apps?: string[];
}

/** Sent each `beat_seconds`: the last sequence number of every subscription. */
export interface Beat {
  type: "beat";
  heads: Record<string, number>;
}

/** What was asked for was refused. */
export interface ErrorFrame {
  type: "error";
  sub?: string | null;
  code: string;
  message: string;
}

/** Something happened. `seq` counts by one within a topic and an epoch. */
export interface EventFrame {
  type: "event";
  sub: string;
  seq: number;
  event: JobUpdate | ExternalJobUpdate | AppEntity | AppsChanged | SuspensionsChanged | JobRunStarted | JobRunEnded | ScheduleUpdate | JobGone;
}

/** The last word on a piece of work that runs elsewhere. `progress` is 0 to 100. */
export interface ExternalJob {
  app_id: string;
  job_id: string;
  title: string;
  status: "pending" | "running" | "completed" | "failed" | "cancelled";
  progress: number | null;
  eta_seconds: number | null;
  message: string;
  user_id: string;
  revision?: number;
  updated_at?: string | null;
  finished_at?: string | null;
}

/** A piece of work elsewhere was told of. */
export interface ExternalJobUpdate {
  name: "external_job_update";
  external: ExternalJob;
}

/** The first frame. `epoch`: of this server process; sequence numbers hold within one. */
export interface Hello {
  type: "hello";
  version: number;
  epoch: string;
  beat_seconds: number;
}

/** Why a run ended badly. */
export interface JobError {
  type: string;
  message: string;
}

/** A job's row is no more: it was kept long enough. */
export interface JobGone {
  name: "job_gone";
  id: string;
}

/** A job. Without the right to see payloads, `params`, `data` and `result` hold public parts only. */
export interface JobOutput {
  id: string;
  app_id: string;
  job_type: string;
  status: "pending" | "dispatched" | "running" | "waiting" | "paused" | "completed" | "failed" | "cancelled";
  reason: string;
  cause: string;
  attempt: number;
  lease: number;
  priority: number;
  queue: string;
  user_id: string;
  tenant_id: string;
  params: Record<string, unknown>;
  data: Record<string, unknown>;
  progress: Progress;
  result: unknown;
  error: JobError | null;
  parent_id: string | null;
  alias_job_id: string | null;
  dedupe_key: string | null;
  schedule_id: string | null;
  planned_at: string | null;
  run_after: string | null;
  created_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  /** Which of params, data and result are too large to be pushed. */
  truncated?: string[];
}

/** A job and the count of writes to its row: of two, the one with the higher revision is newer. */
export interface JobRow {
  revision: number;
  job: JobOutput;
}

/** A run ended. */
export interface JobRunEnded {
  name: "job_run_ended";
  app_id: string;
  job_type: string;
  job_id: string;
  success: boolean;
  reason: string;
  ended_at: string | null;
}

/** A run began. `actor`: who asked for it. */
export interface JobRunStarted {
  name: "job_run_started";
  app_id: string;
  job_type: string;
  job_id: string;
  started_at: string | null;
  actor: string;
}

/** A job was made or changed. */
export interface JobUpdate {
  name: "job_update";
  revision: number;
  job: JobOutput;
}

/** Something that starts nothing for now. */
export interface OpenSuspension {
  scope: string;
  target: string;
  author: string;
}

/** Is somebody there? */
export interface Ping {
  type: "ping";
}

/** Yes. */
export interface Pong {
  type: "pong";
}

/** How far a run is. `pct` is 0 to 100, null while the total is not known. */
export interface Progress {
  done: number | null;
  total: number | null;
  label: string;
  pct: number | null;
  eta_seconds: number | null;
}

/** The events after `after` again. */
export interface Replay {
  type: "replay";
  sub: string;
  after: number;
}

/** Too much was missed: ask for a snapshot. */
export interface Resync {
  type: "resync";
  sub: string;
}

/** A run that is on its way. `actor`: who asked for it. */
export interface RunningJob {
  app_id: string;
  job_type: string;
  job_id: string;
  started_at: string | null;
  actor: string;
}

/** A schedule was changed or decided on a slot. */
export interface ScheduleUpdate {
  name: "schedule_update";
  schedule_id: string;
  revision?: number;
  state?: string;
  fault?: string;
  next_slot_at?: string | null;
  last_fired_at?: string | null;
  last?: unknown;
}

/** The last frame that a page has of a topic. */
export interface Since {
  epoch: string;
  seq: number;
}

/** What a topic holds at `seq`: the `limit` newest; all of them when `complete`. */
export interface Snapshot {
  type: "snapshot";
  sub?: string;
  seq?: number;
  complete?: boolean;
  jobs: JobRow[];
  external?: ExternalJob[];
  running?: RunningJob[];
  /** What was told since `after_event`, in order. */
  events?: AppEntity[];
  /** Of the newest app_entity: later ones come as events. */
  last_event_id?: string;
}

/** Hear of a topic from now on, after a snapshot or what was missed. Again with one `sub`: a new snapshot. */
export interface Subscribe {
  type: "subscribe";
  sub: string;
  topic: string;
  snapshot: boolean;
  limit: number;
  since?: Since;
  /** Also what apps have told since this app_entity, beside a snapshot. */
  after_event?: string;
}

/** Other suspensions are in force than before. `open`: all that are now. */
export interface SuspensionsChanged {
  name: "suspensions_changed";
  open: OpenSuspension[];
}

/** Hear no more of it. */
export interface Unsubscribe {
  type: "unsubscribe";
  sub: string;
}

export type ClientFrame = Subscribe | Unsubscribe | Replay | Ping;

export type ServerFrame = Hello | Snapshot | EventFrame | Beat | Resync | ErrorFrame | Pong;

export type LiveEvent = JobUpdate | ExternalJobUpdate | AppEntity | AppsChanged | SuspensionsChanged | JobRunStarted | JobRunEnded | ScheduleUpdate | JobGone;
