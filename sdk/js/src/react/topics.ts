import type { LiveEvent, TopicError, TopicState } from "@jobsplatform/live";
import { useEffect, useRef, useState } from "react";
import { useLiveClient } from "./context.js";

const NOTHING: TopicState = { synced: false, jobs: new Map(), external: new Map(), running: new Map() };

/** The newest value, for callbacks that outlive a render. */
export function useLatest<T>(value: T): { readonly current: T } {
  const latest = useRef(value);
  useEffect(() => {
    latest.current = value;
  });
  return latest;
}

/** A list as one text, which is the same while the list says the same. */
export function keyOf(names: readonly string[]): string {
  return JSON.stringify(names);
}

export interface Heard {
  states: ReadonlyMap<string, TopicState>;
  errors: ReadonlyMap<string, TopicError>;
}

const SILENCE: Heard = { states: new Map(), errors: new Map() };

/** What is known of some topics. `key` is a `keyOf` them; `onEvent` may be another function at each render. */
export function useTopics(key: string, limit?: number, onEvent?: (event: LiveEvent, topic: string) => void): Heard {
  const client = useLiveClient();
  const latest = useLatest(onEvent);
  const [told, setTold] = useState<{ key: string; heard: Heard }>({ key, heard: SILENCE });
  useEffect(() => {
    const states = new Map<string, TopicState>();
    const errors = new Map<string, TopicError>();
    const tell = () => setTold({ key, heard: { states, errors } });
    const stops = (JSON.parse(key) as string[]).map((topic) =>
      client.subscribe(topic, {
        limit,
        onEvent: (event) => latest.current?.(event, topic),
        onState: (state) => {
          states.set(topic, state);
          errors.delete(topic);
          tell();
        },
        onError: (error) => {
          errors.set(topic, error);
          tell();
        },
      }),
    );
    return () => stops.forEach((stop) => stop());
  }, [client, key, limit, latest]);
  return told.key === key ? told.heard : SILENCE;
}

/** The state of one of them. */
export function stateOf(heard: Heard, topic: string): TopicState {
  return heard.states.get(topic) ?? NOTHING;
}

/** The topics of some job types of an app. */
export function typeTopics(jobTypes: readonly string[], appId: string): string[] {
  return jobTypes.map((jobType) => `type:${appId}:${jobType}`);
}
