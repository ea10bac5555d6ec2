import type {
  JobOutput,
  JobRunEnded,
  JobRunStarted,
  LiveEvent,
  RunningJob,
  TopicError,
} from "@jobsplatform/live";
import { useState } from "react";
import { keyOf, stateOf, typeTopics, useTopics } from "./topics.js";

export interface JobEventsOptions {
  /** Of which types. Without them: everything of the app, or everything there is (staff). */
  jobTypes?: readonly string[];
  /** Whose types. Default: the platform's own. */
  appId?: string;
  onEvent: (event: LiveEvent) => void;
  /** False: hear nothing. */
  enabled?: boolean;
}

/** Calls back for each event of some job types, once and in order. */
export function useJobEvents({ jobTypes, appId = "", onEvent, enabled = true }: JobEventsOptions): void {
  const everything = appId ? [`app:${appId}`] : ["jobs"];
  const topics = jobTypes ? typeTopics(jobTypes, appId) : everything;
  useTopics(keyOf(enabled ? topics : []), undefined, onEvent);
}

export interface JobSubscription {
  /** Null until it is known. */
  job: JobOutput | null;
  /** False while what is shown may be old. */
  synced: boolean;
  /** Its row is no more. */
  gone: boolean;
  /** There is no such job, or it is not for this user. */
  error: TopicError | null;
}

/** One job as it is. Null or an empty id: none. */
export function useJobSubscription(id: string | null | undefined): JobSubscription {
  const topic = id ? `job:${id}` : "";
  const [lost, setLost] = useState("");
  const heard = useTopics(keyOf(topic ? [topic] : []), 1, (event) => {
    if (event.name === "job_gone" && event.id === id) setLost(event.id);
    if (event.name === "job_update" && event.job.id === id) setLost("");
  });
  const { jobs, synced } = stateOf(heard, topic);
  const job = (id && jobs.get(id)?.job) || null;
  return { job, synced, gone: Boolean(id) && lost === id, error: heard.errors.get(topic) ?? null };
}

export interface JobTopicOptions {
  appId?: string;
  onStarted?: (event: JobRunStarted) => void;
  onEnded?: (event: JobRunEnded) => void;
}

/** The runs of one job type: calls back when one starts or ends, and returns those on their way. */
export function useJobTopic(name: string, options: JobTopicOptions = {}): RunningJob[] {
  const [topic] = typeTopics([name], options.appId ?? "");
  const heard = useTopics(keyOf([topic!]), undefined, (event) => {
    if (event.name === "job_run_started") options.onStarted?.(event);
    else if (event.name === "job_run_ended") options.onEnded?.(event);
  });
  return [...stateOf(heard, topic!).running.values()];
}
