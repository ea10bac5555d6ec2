import { isEnded } from "./store.js";
import type { JobOutput } from "./wire.js";

/** How far the work for one entity is. */
export interface JobTally {
  /** Some of it has not ended. */
  isActive: boolean;
  total: number;
  completed: number;
  running: number;
  pending: number;
  failed: number;
  cancelled: number;
  /** 0 to 100: ended jobs count whole, running ones by their own progress. */
  pct: number;
}

export interface ProgressOptions {
  /** What the job is for: a folder, an order, a user …; null or undefined for jobs that do not count. */
  resolveEntityId: (job: JobOutput) => string | null | undefined;
}

/** Jobs of one entity whose lives overlap or touch in a chain. */
export interface Burst {
  /** The id of its first job. */
  key: string;
  tally: JobTally;
}

/**
 * The work of each entity, from the rows alone. Of an entity's jobs the last *burst* counts: those whose lives,
 * from made to ended, overlap or touch in a chain. So a bar that starts again does not begin half full, and two
 * pages that were opened at different times say the same.
 */
export function tallies(jobs: Iterable<JobOutput>, options: ProgressOptions): Record<string, JobTally> {
  // Without a prototype: an entity may have any name.
  const found: Record<string, JobTally> = Object.create(null);
  for (const [entity, its] of bursts(jobs, options)) found[entity] = its[its.length - 1]!.tally;
  return found;
}

/** Every burst of every entity, the last one last. */
export function bursts(jobs: Iterable<JobOutput>, options: ProgressOptions): Map<string, Burst[]> {
  const byEntity = new Map<string, JobOutput[]>();
  for (const job of jobs) {
    const entity = options.resolveEntityId(job);
    if (entity === null || entity === undefined) continue;
    const known = byEntity.get(entity);
    if (known) known.push(job);
    else byEntity.set(entity, [job]);
  }
  const made = (its: JobOutput[]): Burst => ({ key: its[0]!.id, tally: tally(its) });
  return new Map([...byEntity].map(([entity, its]) => [entity, chained(its).map(made)]));
}

function chained(jobs: JobOutput[]): JobOutput[][] {
  const lives = jobs.map((job) => ({ job, from: instant(job.created_at, 0), to: endOf(job) }));
  lives.sort((one, other) => one.from - other.from || (one.job.id < other.job.id ? -1 : 1));
  const chains: JobOutput[][] = [];
  let until = Number.NEGATIVE_INFINITY;
  for (const { job, from, to } of lives) {
    const last = chains[chains.length - 1];
    if (last && from <= until) last.push(job);
    else chains.push([job]);
    until = Math.max(until, to);
  }
  return chains;
}

function endOf(job: JobOutput): number {
  return isEnded(job.status) ? instant(job.finished_at, 0) : Number.POSITIVE_INFINITY;
}

function instant(text: string | null, otherwise: number): number {
  const found = text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(found) ? otherwise : found;
}

function tally(jobs: JobOutput[]): JobTally {
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
  return { ...found, pct: Math.round((1000 * share) / jobs.length) / 10 };
}
