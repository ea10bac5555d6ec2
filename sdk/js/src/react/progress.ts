import { bursts, type JobOutput, type JobTally } from "@jobsplatform/live";
import { useEffect, useMemo, useRef } from "react";
import { keyOf, typeTopics, useLatest, useTopics } from "./topics.js";

const MOST_JOBS = 1000;

export interface JobProgressOptions {
  jobTypes: readonly string[];
  appId?: string;
  /** What a job is for; null for jobs that do not count. Best a function made once. */
  resolveEntityId: (job: JobOutput) => string | null | undefined;
  /** All work for an entity that was seen active has ended. */
  onSettled?: (entity: string, tally: JobTally) => void;
}

/** How far the work for each entity is, by the newest thousand jobs of each type. */
export function useJobProgress(options: JobProgressOptions): Record<string, JobTally> {
  const { jobTypes, appId = "", resolveEntityId } = options;
  const heard = useTopics(keyOf(typeTopics(jobTypes, appId)), MOST_JOBS);
  const onSettled = useLatest(options.onSettled);
  const found = useMemo(() => {
    const rows = [...heard.states.values()].flatMap((state) => [...state.jobs.values()]);
    return bursts(
      rows.map((row) => row.job),
      { resolveEntityId },
    );
  }, [heard, resolveEntityId]);
  // The burst of each entity that was active when last looked at.
  const active = useRef(new Map<string, string>());
  useEffect(() => {
    const before = active.current;
    const now = new Map<string, string>();
    const settled: Array<[string, JobTally]> = [];
    for (const [entity, its] of found) {
      const last = its[its.length - 1]!;
      if (last.tally.isActive) now.set(entity, last.key);
      const was = its.find((burst) => burst.key === before.get(entity));
      if (was && !was.tally.isActive) settled.push([entity, was.tally]);
    }
    active.current = now;
    for (const [entity, tally] of settled) onSettled.current?.(entity, tally);
  }, [found, onSettled]);
  return useMemo(() => {
    const shown: Record<string, JobTally> = Object.create(null);
    for (const [entity, its] of found) shown[entity] = its[its.length - 1]!.tally;
    return shown;
  }, [found]);
}
