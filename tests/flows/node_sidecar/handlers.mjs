// The job types of the conformance pack, in JavaScript.

import { End } from "./run.mjs";

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const object = (properties, required = []) => ({
  type: "object", properties, required, additionalProperties: false,
});
const integer = { type: "integer" };
const text = { type: "string" };

export const handlers = {
  "conf.echo": {
    spec: { params_schema: object({ value: { default: null } }) },
    run: async (run, { value }) => ({
      value, attempt: run.given.attempt, user_id: run.job.user_id, reason: run.given.run_reason,
    }),
  },
  "conf.fail": {
    spec: {
      max_attempts: 2, backoff: 0.05,
      params_schema: object({ message: text, retryable: { type: "boolean", default: false } }, ["message"]),
    },
    run: async (run, { message, retryable }) => {
      throw new End({ kind: "failed", error: message, error_type: "Fail", retryable });
    },
  },
  "conf.retry": {
    spec: { max_attempts: 5, params_schema: object({ times: integer }, ["times"]) },
    run: async (run, { times }) => {
      if (run.given.attempt <= times) throw new End({ kind: "retry", after: 0.05, error: "not yet" });
      return { attempt: run.given.attempt };
    },
  },
  "conf.snooze": {
    spec: { max_attempts: 1, params_schema: object({ times: integer }, ["times"]) },
    run: async (run, { times }) => {
      const snoozed = run.data.snoozed ?? 0;
      if (snoozed < times) {
        await run.merge({ snoozed: snoozed + 1 });
        throw new End({ kind: "snooze", seconds: 0.05, reason: "not yet" });
      }
      return { attempt: run.given.attempt, snoozed };
    },
  },
  "conf.discard": {
    spec: { params_schema: object({ reason: text }, ["reason"]) },
    run: async (run, { reason }) => {
      throw new End({ kind: "discarded", reason });
    },
  },
  "conf.pause": {
    spec: { backoff: 0.05, params_schema: object({ retryable: { type: "boolean" } }, ["retryable"]) },
    run: async (run, { retryable }) => {
      if (run.given.cursor === null) {
        await run.checkpoint("paused once");
        throw new End({ kind: "paused", reason: "no disk", retryable });
      }
      return run.given.cursor;
    },
  },
  "conf.deferred": {
    spec: { params_schema: object({ seconds: { type: "number", default: 60 } }) },
    run: async (run, { seconds }) => {
      await run.progress(1, 3, "sent off");
      throw new End({ kind: "deferred", deadline_seconds: seconds });
    },
  },
  "conf.gate": {
    spec: { max_attempts: 50, backoff: 0.5, params_schema: object({}) },
    run: async (run) => {
      const runs = (run.given.cursor ?? 0) + 1;
      await run.checkpoint(runs);
      await run.progress(runs, null, "at the gate");
      while (!(await run.merge({ runs })).go) {
        run.check();
        await sleep(50);
      }
      return { runs, attempt: run.given.attempt };
    },
  },
  "conf.slow": {
    spec: { max_attempts: 1, timeout: 30, soft_timeout: 0.5, params_schema: object({}) },
    run: async (run) => {
      for (;;) {
        run.check();
        await sleep(50);
      }
    },
  },
  "conf.progress": {
    spec: { params_schema: object({ steps: integer }, ["steps"]) },
    run: async (run, { steps }) => {
      for (let step = 1; step <= steps; step++) await run.progress(step, steps, `step ${step}`);
      return { steps };
    },
  },
  "conf.checkpoint": {
    spec: { max_attempts: 5, params_schema: object({ steps: integer, fail_at: integer }, ["steps", "fail_at"]) },
    run: async (run, { steps, fail_at: failAt }) => {
      const begunAt = run.given.cursor ?? 0;
      for (let step = begunAt + 1; step <= steps; step++) {
        if (step === failAt && !begunAt) {
          throw new End({ kind: "retry", after: 0.05, error: "interrupted on purpose" });
        }
        await run.checkpoint(step);
      }
      return { begun_at: begunAt, attempt: run.given.attempt };
    },
  },
  "conf.merge": {
    spec: { params_schema: object({ first: { type: "object" }, second: { type: "object" } }, ["first", "second"]) },
    run: async (run, { first, second }) => {
      await run.merge(first);
      return run.merge(second);
    },
  },
  "conf.children": {
    spec: {
      continuation: true,
      params_schema: object(
        { values: { type: "array", items: integer }, failing: { type: "integer", default: 0 },
          on_failure: { ...text, default: "fail" } },
        ["values"],
      ),
    },
    run: async (run, { values, failing, on_failure: onFailure }) => {
      if (run.given.continuing) {
        return Object.fromEntries(
          run.given.children.map((child) => [child.key, [child.state, child.result?.value ?? null]]),
        );
      }
      const wanted = values.map((value) => (
        { job_type: "conf.echo", params: { value }, child_key: `v${value}` }
      ));
      for (let n = 0; n < failing; n++) {
        wanted.push({ job_type: "conf.fail", params: { message: "child" }, child_key: `f${n}` });
      }
      const first = await run.spawn(wanted, onFailure === "ignore");
      const second = await run.spawn(wanted, onFailure === "ignore");
      if (String(first) !== String(second)) {
        throw new End({ kind: "failed", error: "the same children were made twice", retryable: false });
      }
      return null;
    },
  },
};
