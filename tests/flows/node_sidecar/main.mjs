// A sidecar in JavaScript, written with the HTTP contract alone: node main.mjs URL TOKEN_FILE

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";

import { Bus } from "./bus.mjs";
import { handlers } from "./handlers.mjs";
import { End, Run } from "./run.mjs";

const CONCURRENCY = 4;
const WAIT_SECONDS = 2;
const GRACE_MS = 5000;

const [url, tokenFile] = process.argv.slice(2);
const bus = new Bus(url, readFileSync(tokenFile, "utf8").trim());
const runnerId = randomUUID();
const runs = new Map();
let [beatSeconds, leaseSeconds, stopping] = [5, 15, false];

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const keyOf = (id, lease) => `${id}/${lease}`;

async function perform(run) {
  let ending;
  try {
    const result = await handlers[run.job.job_type].run(run, run.job.params);
    ending = { kind: "completed", result };
  } catch (error) {
    ending = error instanceof End ? error.ending : {
      kind: "failed", error: String(error.message ?? error), error_type: error.name ?? "Error",
      traceback: String(error.stack ?? ""),
    };
  }
  try {
    await run.tell(ending);
  } finally {
    runs.delete(keyOf(run.id, run.lease));
  }
}

async function beat() {
  const running = [...runs.values()].map(({ id, lease }) => ({ id, lease }));
  try {
    const answer = await bus.once("jobs.heartbeat", { runner_id: runnerId, running, stopping }, leaseSeconds / 3);
    for (const news of answer.runs) {
      const run = runs.get(keyOf(news.id, news.lease));
      if (run && news.held) run.hear(news.cancel);
      else if (run) run.held = false;
    }
  } catch (error) {
    console.error(`heartbeat: ${error.message}`);
  }
}

async function beatForEver() {
  while (!stopping || runs.size) {
    await sleep(Math.min(beatSeconds, 1) * 1000);
    await beat();
  }
}

async function claimForEver() {
  while (!stopping) {
    if (runs.size >= CONCURRENCY) {
      await sleep(20);
      continue;
    }
    const body = {
      runner_id: runnerId, name: `node-${process.pid}`, job_types: Object.keys(handlers),
      limit: CONCURRENCY - runs.size, capacity: CONCURRENCY, wait_seconds: WAIT_SECONDS,
    };
    try {
      const answer = await bus.once("jobs.claim", body, WAIT_SECONDS + 15);
      [beatSeconds, leaseSeconds] = [answer.heartbeat_seconds, answer.lease_seconds];
      for (const given of answer.jobs) {
        const run = new Run(bus, given, leaseSeconds);
        if (stopping) {
          await run.tell({ kind: "interrupted", reason: "shutdown" });
          continue;
        }
        runs.set(keyOf(run.id, run.lease), run);
        perform(run).catch((error) => console.error(`job ${run.id}: ${error.message}`));
      }
    } catch (error) {
      console.error(`claim: ${error.message}`);
      await sleep(200);
    }
  }
}

async function drain() {
  stopping = true;
  await beat();
  for (const run of runs.values()) run.cancel ??= "shutdown";
  for (const until = Date.now() + GRACE_MS; runs.size && Date.now() < until; ) await sleep(20);
  await beat();
  process.exit(0);
}

process.on("SIGTERM", drain);
process.on("SIGINT", drain);
for (const [jobType, { spec }] of Object.entries(handlers)) {
  await bus.call("jobs.register_handler", { job_type: jobType, service: "conformance", spec });
}
console.log(`node sidecar ${process.pid} started`);
await Promise.all([beatForEver(), claimForEver()]);
