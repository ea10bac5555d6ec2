import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LiveClient, type LiveEvent, type TopicState } from "../src";
import { Store } from "../src/store";
import { FakeServer, makeJob } from "./fake-server";

const TOPIC = "type::t";
const RUN = { app_id: "", job_type: "t", job_id: "a", started_at: "2026-01-01T12:00:01Z", actor: "" };
const BEGAN = { name: "job_run_started" as const, ...RUN };
const END = "2026-01-01T12:00:09Z";
const ENDED = {
  name: "job_run_ended" as const,
  app_id: "",
  job_type: "t",
  job_id: "a",
  success: true,
  reason: "",
  ended_at: END,
};
let server: FakeServer;
let client: LiveClient;

function listen(topic = TOPIC, limit?: number) {
  const heard = { events: [] as LiveEvent[], state: undefined as TopicState | undefined };
  client.subscribe(topic, {
    limit,
    onEvent: (event) => heard.events.push(event),
    onState: (state) => (heard.state = state),
  });
  return heard;
}

const names = (heard: { events: LiveEvent[] }) => heard.events.map((event) => event.name);
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const resync = () => [...server.sockets][0]!.push({ type: "resync", sub: "s1" });
const entity = (id: string) => ({ name: "app_entity" as const, id, app_id: "v", kind: "k", scope: "", payload: id });

beforeEach(() => {
  vi.useFakeTimers();
  server = new FakeServer();
  client = new LiveClient(server.options({ stateEveryMs: 0 }));
});

afterEach(async () => {
  client.close();
  server.stop();
  await pass(5);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe("a later listener that wants more rows", () => {
  beforeEach(async () => {
    for (let n = 0; n < 80; n++) server.putQuietly(TOPIC, { id: `job-${n}` }, 1);
    listen();
    await pass(10);
  });

  it("gets them though the answer is lost, twice", async () => {
    let lost = 0;
    server.lose = (frame) => frame.type === "snapshot" && lost++ < 2;
    const many = listen(TOPIC, 100);
    await pass(10);
    expect(many.state!.jobs.size).toBe(50);
    await pass(8000);
    expect(many.state!.jobs.size).toBe(80);
  });

  it("gets them when it came while there was no connection", async () => {
    server.away = true;
    server.cut();
    const many = listen(TOPIC, 100);
    await pass(100);
    server.away = false;
    await pass(5000);
    expect(client.status).toBe("live");
    expect(many.state!.jobs.size).toBe(80);
  });

  it("is not content with the answer to an earlier question", async () => {
    server.lose = (frame) => frame.type === "snapshot";
    const many = listen(TOPIC, 100);
    await pass(10);
    server.lose = () => false;
    const [socket] = server.sockets;
    socket!.push({ ...server.snapshot(TOPIC, 50), sub: "s1", seq: 0 });
    await pass(2500);
    expect(many.state!.jobs.size).toBe(80);
  });

  it("gets what there is when that never is as much as was asked for", async () => {
    server.more = { complete: false };
    const many = listen(TOPIC, 100);
    await pass(10_000);
    const asked = server.asked("subscribe").length;
    server.put(TOPIC, { id: "new" }, 1);
    await pass(10_000);
    expect(many.state!.jobs.has("new")).toBe(true);
    expect(server.asked("subscribe")).toHaveLength(asked);
  });
});

describe("a snapshot that is newer than its number", () => {
  it("and the events after it tell the end of a run once", async () => {
    server.putQuietly(TOPIC, { id: "a", started_at: RUN.started_at }, 1);
    server.runs(TOPIC, "a", true);
    const heard = listen();
    await pass(1000);
    server.putQuietly(TOPIC, { id: "a", status: "completed", started_at: RUN.started_at, finished_at: END }, 2);
    server.runs(TOPIC, "a", false);
    resync();
    await pass(1000);
    expect(names(heard)).toEqual(["job_update", "job_run_ended"]);
    server.put(TOPIC, { id: "a", status: "completed", started_at: RUN.started_at, finished_at: END }, 2);
    server.tell(TOPIC, BEGAN);
    server.tell(TOPIC, ENDED);
    await pass(10);
    expect(names(heard)).toEqual(["job_update", "job_run_ended"]);
    expect(heard.state!.running.size).toBe(0);
  });

  it("and the events before it do so too", async () => {
    const heard = listen();
    await pass(1000);
    server.put(TOPIC, { id: "a", started_at: RUN.started_at }, 1);
    server.tell(TOPIC, BEGAN);
    server.tell(TOPIC, ENDED);
    await pass(10);
    server.putQuietly(TOPIC, { id: "a", status: "completed", started_at: RUN.started_at, finished_at: END }, 2);
    resync();
    await pass(1000);
    expect(names(heard)).toEqual(["job_update", "job_run_started", "job_run_ended", "job_update"]);
  });

  it("tells of a run's start once, and of each attempt's", async () => {
    const heard = listen();
    await pass(1000);
    server.putQuietly(TOPIC, { id: "a", started_at: RUN.started_at }, 1);
    server.stream(TOPIC).running.set("a", RUN);
    resync();
    await pass(1000);
    server.tell(TOPIC, BEGAN);
    server.tell(TOPIC, { ...ENDED, success: false, ended_at: null });
    server.tell(TOPIC, { ...BEGAN, started_at: "2026-01-01T12:00:05Z" });
    server.tell(TOPIC, { ...ENDED, success: false, ended_at: null });
    server.tell(TOPIC, { ...BEGAN, started_at: "2026-01-01T12:00:08Z" });
    server.tell(TOPIC, ENDED);
    await pass(10);
    const [began, ended] = ["job_run_started", "job_run_ended"];
    expect(names(heard)).toEqual(["job_update", began, ended, began, ended, began, ended]);
  });

  it("tells what an app says once", async () => {
    const heard = listen("user:ann");
    await pass(10);
    server.tell("user:ann", entity("7"));
    await pass(10);
    server.missedEvents = [entity("8")];
    resync();
    await pass(1000);
    server.tell("user:ann", entity("8"));
    server.tell("user:ann", entity("9"));
    await pass(10);
    expect(heard.events.map((event) => event.name === "app_entity" && event.id)).toEqual(["7", "8", "9"]);
  });

  it("that shows a row first does not hide the news of it", async () => {
    server.putQuietly(TOPIC, { id: "a" }, 1);
    const heard = listen();
    await pass(10);
    server.put(TOPIC, { id: "a" }, 1);
    server.put(TOPIC, { id: "a" }, 1);
    await pass(10);
    expect(names(heard)).toEqual(["job_update"]);
  });
});

describe("what an app said while nobody listened", () => {
  it("is asked for after polls too", async () => {
    const heard = listen("user:ann");
    server.more = { last_event_id: "7" };
    await pass(10);
    server.more = { last_event_id: "9" };
    server.missedEvents = [entity("8"), entity("9")];
    server.blocked = true;
    server.cut();
    await pass(6000);
    expect(client.status).toBe("polling");
    server.blocked = false;
    server.restart("two");
    await pass(20_000);
    expect(server.asked("subscribe").pop()).toMatchObject({ after_event: "7" });
    expect(heard.events.map((event) => event.name === "app_entity" && event.id)).toEqual(["8", "9"]);
  });

  it("is asked for where the events since then are not kept any more", async () => {
    server.more = { last_event_id: "7" };
    listen("user:ann");
    await pass(10);
    server.cut();
    await pass(1100);
    expect(server.asked("subscribe").pop()).toMatchObject({ since: { epoch: "one", seq: 0 }, after_event: "7" });
  });
});

describe("a run that goes on after its children", () => {
  it.each(["pending", "dispatched"] as const)("has not ended while its job is %s for that", async (status) => {
    server.runs(TOPIC, "a", true);
    const heard = listen();
    await pass(1000);
    server.putQuietly(TOPIC, { id: "a", status, reason: "continuation" }, 2);
    server.runs(TOPIC, "a", false);
    resync();
    await pass(1000);
    expect(names(heard)).toEqual(["job_update"]);
    expect([...heard.state!.running.keys()]).toEqual(["a"]);
  });

  it("has ended when its job waits for another attempt", async () => {
    server.runs(TOPIC, "a", true);
    const heard = listen();
    await pass(1000);
    server.putQuietly(TOPIC, { id: "a", status: "pending", reason: "retry" }, 2);
    server.runs(TOPIC, "a", false);
    resync();
    await pass(1000);
    expect(names(heard)).toEqual(["job_update", "job_run_ended"]);
  });
});

describe("a job that is cancelled between two attempts", () => {
  it.each(["pending", "dispatched", "paused"] as const)("has not run again (%s)", async (status) => {
    server.putQuietly(TOPIC, { id: "a", status, started_at: RUN.started_at }, 1);
    const heard = listen();
    await pass(1000);
    server.putQuietly(TOPIC, { id: "a", status: "cancelled", started_at: RUN.started_at, finished_at: END }, 2);
    resync();
    await pass(1000);
    expect(names(heard)).toEqual(["job_update"]);
  });
});

describe("what is kept", () => {
  const fill = (store: Store, status: "pending" | "running" | "completed", from: number, to: number) => {
    for (let n = from; n < to; n++) {
      const job = makeJob({ id: `job-${String(n).padStart(4, "0")}`, status, finished_at: null });
      store.apply({ name: "job_update", revision: 1, job });
    }
  };

  it("is bounded: ended jobs go first, then the oldest that wait, never one that runs", () => {
    const store = new Store();
    fill(store, "running", 0, 20);
    fill(store, "pending", 20, 120);
    fill(store, "completed", 120, 130);
    store.trim(100);
    expect(store.jobs.size).toBe(100);
    expect(store.jobs.has("job-0000")).toBe(true);
    expect(store.jobs.has("job-0039")).toBe(false);
    expect(store.jobs.has("job-0040")).toBe(true);
    expect(store.jobs.has("job-0125")).toBe(false);
  });

  it("is not looked through at each event when nothing of it can go", () => {
    const store = new Store();
    fill(store, "running", 0, 130);
    store.trim(100);
    const values = vi.spyOn(store.jobs, "values");
    fill(store, "running", 130, 140);
    store.trim(100);
    expect(values).not.toHaveBeenCalled();
    expect(store.jobs.size).toBe(140);
  });

  it("holds of work elsewhere no more either", () => {
    const store = new Store();
    for (let n = 0; n < 130; n++) {
      const external = { app_id: "v", job_id: `x${n}`, title: "", progress: null, eta_seconds: null, message: "", user_id: "" };
      store.apply({ name: "external_job_update", external: { ...external, status: n ? "completed" : "running", revision: 1 } });
    }
    store.trim(100);
    expect(store.external.size).toBe(100);
    expect(store.external.has("v:x0")).toBe(true);
    expect(store.external.has("v:x1")).toBe(false);
  });
});

describe("a topic that is refused later", () => {
  it("is not said to be true any more", async () => {
    const heard = listen();
    await pass(10);
    expect(heard.state!.synced).toBe(true);
    [...server.sockets][0]!.push({ type: "error", sub: "s1", code: "FORBIDDEN", message: "not for you" });
    await pass(10);
    expect(heard.state!.synced).toBe(false);
  });
});

describe("a resync that was lost", () => {
  it("is made good though no beat comes", async () => {
    const heard = listen();
    await pass(10);
    server.lose = (frame) => ["event", "beat", "resync"].includes(frame.type);
    for (let n = 1; n <= 150; n++) server.put(TOPIC, { id: "a" }, n);
    await pass(8000);
    expect(heard.state!.jobs.get("a")?.revision).toBe(150);
  });
});
