import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LiveClient, type LiveEvent, type LiveOptions, type TopicState } from "../src";
import { dice, FakeServer } from "./fake-server";

const TOPIC = "type::t";
let server: FakeServer;
const clients: LiveClient[] = [];

function connect(more: LiveOptions = {}): LiveClient {
  const client = new LiveClient(server.options({ stateEveryMs: 0, ...more }));
  clients.push(client);
  return client;
}

/** A listener that notes everything. */
function listen(client: LiveClient, topic = TOPIC, limit?: number) {
  const heard = {
    events: [] as LiveEvent[],
    errors: [] as string[],
    state: undefined as TopicState | undefined,
    stop: () => {},
    get shown() {
      return Object.fromEntries([...(heard.state?.jobs ?? [])].map(([id, row]) => [id, row.revision]));
    },
    get names() {
      return heard.events.map((event) => (event.name === "job_update" ? `${event.job.id}@${event.revision}` : event.name));
    },
  };
  heard.stop = client.subscribe(topic, {
    limit,
    onEvent: (event) => heard.events.push(event),
    onState: (state) => (heard.state = state),
    onError: (error) => heard.errors.push(error.code),
  });
  return heard;
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** What the server holds, as a page shows it. */
function truth(topic = TOPIC) {
  return Object.fromEntries([...server.stream(topic).jobs].map(([id, row]) => [id, row.revision]));
}

beforeEach(() => {
  vi.useFakeTimers();
  server = new FakeServer();
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  server.stop();
  await vi.advanceTimersByTimeAsync(5);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe("a topic", () => {
  it("begins with a snapshot, which is no news, and goes on with events", async () => {
    server.putQuietly(TOPIC, { id: "a" }, 1);
    const heard = listen(connect());
    await pass(10);
    expect(heard.shown).toEqual({ a: 1 });
    expect(heard.names).toEqual([]);
    server.put(TOPIC, { id: "b" }, 1);
    server.put(TOPIC, { id: "a", status: "completed" }, 2);
    await pass(10);
    expect(heard.names).toEqual(["b@1", "a@2"]);
    expect(heard.shown).toEqual({ a: 2, b: 1 });
  });

  it("is subscribed to once for all its listeners, and left after the last", async () => {
    const client = connect();
    const [one, two] = [listen(client), listen(client)];
    await pass(10);
    expect(server.asked("subscribe")).toHaveLength(1);
    server.put(TOPIC, { id: "a" }, 1);
    await pass(10);
    expect([one.names, two.names]).toEqual([["a@1"], ["a@1"]]);
    one.stop();
    one.stop();
    await pass(1000);
    expect(server.asked("unsubscribe")).toHaveLength(0);
    server.put(TOPIC, { id: "a" }, 2);
    await pass(10);
    expect([one.names, two.names]).toEqual([["a@1"], ["a@1", "a@2"]]);
    two.stop();
    await pass(1000);
    expect(server.asked("unsubscribe")).toHaveLength(1);
  });

  it("is kept for a listener that leaves and comes back", async () => {
    server.putQuietly(TOPIC, { id: "a" }, 1);
    const client = connect();
    listen(client).stop();
    const heard = listen(client);
    await pass(10);
    heard.stop();
    const again = listen(client);
    await pass(1000);
    expect(server.asked("subscribe")).toHaveLength(1);
    expect(server.asked("unsubscribe")).toHaveLength(0);
    expect(again.shown).toEqual({ a: 1 });
  });

  it("tells a later listener what it knows, and asks for more when that one wants more", async () => {
    for (let n = 0; n < 80; n++) server.putQuietly(TOPIC, { id: `job-${n}` }, 1);
    const client = connect();
    const few = listen(client);
    await pass(10);
    expect(few.state!.jobs.size).toBe(50);
    const many = listen(client, TOPIC, 100);
    await pass(0);
    expect(many.state!.jobs.size).toBe(50);
    await pass(10);
    expect(many.state!.jobs.size).toBe(80);
  });

  it("shows what it knew to those who come while there is no connection, as old", async () => {
    server.putQuietly(TOPIC, { id: "a" }, 1);
    const client = connect();
    listen(client);
    await pass(10);
    server.away = true;
    server.cut();
    const late = listen(client);
    await pass(10);
    expect(late.shown).toEqual({ a: 1 });
    expect(late.state!.synced).toBe(false);
  });

  it("that is refused says why, and is not asked for again", async () => {
    server.refusals.set("jobs", { code: "FORBIDDEN", message: "not for you" });
    const heard = listen(connect(), "jobs");
    await pass(60_000);
    expect(heard.errors).toEqual(["FORBIDDEN"]);
    expect(server.asked("subscribe")).toHaveLength(1);
  });

  it("ignores what is older than what it shows", async () => {
    const heard = listen(connect());
    await pass(10);
    server.put(TOPIC, { id: "a", status: "completed" }, 5);
    server.put(TOPIC, { id: "a", status: "running" }, 4);
    await pass(10);
    expect(heard.names).toEqual(["a@5"]);
    expect(heard.state!.jobs.get("a")!.job.status).toBe("completed");
  });

  it("forgets a job that is gone", async () => {
    const heard = listen(connect());
    await pass(10);
    server.put(TOPIC, { id: "a" }, 1);
    server.tell(TOPIC, { name: "job_gone", id: "a" });
    await pass(10);
    expect(heard.shown).toEqual({});
    expect(heard.names).toEqual(["a@1", "job_gone"]);
  });

  it("goes on when one of its listeners throws", async () => {
    const reported = vi.fn();
    vi.stubGlobal("reportError", reported);
    const client = connect();
    client.subscribe(TOPIC, {
      onEvent: () => {
        throw new Error("a page's own mistake");
      },
    });
    const heard = listen(client);
    await pass(10);
    server.put(TOPIC, { id: "a" }, 1);
    await pass(10);
    expect(heard.names).toEqual(["a@1"]);
    expect(reported).toHaveBeenCalledOnce();
  });
});

describe("what is not a job", () => {
  const external = (revision: number, status: "running" | "completed") => ({
    app_id: "video",
    job_id: "x",
    title: "",
    status,
    progress: null,
    eta_seconds: null,
    message: "",
    user_id: "ann",
    revision,
  });
  const entity = (id: string) => ({ name: "app_entity" as const, id, app_id: "video", kind: "k", scope: "", payload: id });

  it("has revisions too", async () => {
    const heard = listen(connect(), "user:ann");
    await pass(10);
    server.tell("user:ann", { name: "external_job_update", external: external(2, "completed") });
    server.tell("user:ann", { name: "external_job_update", external: external(1, "running") });
    await pass(10);
    expect(heard.names).toEqual(["external_job_update"]);
    expect(heard.state!.external.get("video:x")!.status).toBe("completed");
  });

  it("is asked for by its number after a server's restart", async () => {
    const heard = listen(connect(), "user:ann");
    await pass(10);
    const first = server.asked("subscribe")[0];
    expect(first).not.toHaveProperty("after_event");
    server.tell("user:ann", entity("7"));
    await pass(10);
    server.missedEvents = [entity("8")];
    server.restart("two");
    await pass(1100);
    expect(server.asked("subscribe").pop()).toMatchObject({ after_event: "7" });
    expect(heard.events.map((event) => event.name === "app_entity" && event.payload)).toEqual(["7", "8"]);
  });

  it("a run that is on its way does not start again", async () => {
    const heard = listen(connect());
    await pass(10);
    const run = { app_id: "", job_type: "t", job_id: "a", started_at: null, actor: "" };
    server.tell(TOPIC, { name: "job_run_started", ...run });
    server.tell(TOPIC, { name: "job_run_started", ...run });
    server.tell(TOPIC, { name: "job_run_ended", ...run, success: true, reason: "", ended_at: null });
    server.tell(TOPIC, { name: "job_run_started", ...run });
    await pass(10);
    expect(heard.names).toEqual(["job_run_started", "job_run_ended", "job_run_started"]);
  });

  it("a run that waits for its children has not ended, whatever a snapshot leaves out", async () => {
    const heard = listen(connect());
    server.runs(TOPIC, "a", true);
    await pass(10);
    server.putQuietly(TOPIC, { id: "a", status: "waiting" }, 2);
    server.runs(TOPIC, "a", false);
    server.restart("two");
    await pass(1100);
    expect(heard.names).toEqual(["a@2"]);
    expect([...heard.state!.running.keys()]).toEqual(["a"]);
  });
});

describe("manners", () => {
  it("a subscription that was refused is not ended: the server does not know it", async () => {
    server.refusals.set("jobs", { code: "FORBIDDEN", message: "not for you" });
    const heard = listen(connect(), "jobs");
    await pass(10);
    heard.stop();
    await pass(1000);
    expect(server.asked("unsubscribe")).toEqual([]);
  });

  it("a storm of resyncs is answered with few snapshots, the last of them after the last", async () => {
    const heard = listen(connect());
    await pass(10);
    const [socket] = server.sockets;
    for (let n = 0; n < 20; n++) {
      server.putQuietly(TOPIC, { id: "a" }, n);
      socket!.push({ type: "resync", sub: "s1" });
      await pass(50);
    }
    await pass(500);
    expect(server.asked("subscribe").length).toBeLessThan(8);
    expect(heard.shown).toEqual({ a: 19 });
  });

  it("a snapshot that takes its time is not asked for all the time", async () => {
    server.lose = (frame) => frame.type === "snapshot" || frame.type === "beat";
    listen(connect());
    await pass(20_000);
    expect(server.asked("subscribe").length).toBeLessThan(6);
    expect(server.asked("replay")).toEqual([]);
  });
});

describe("lost frames", () => {
  it("in the middle are asked for again, and come in order", async () => {
    const heard = listen(connect());
    await pass(10);
    let lost = 0;
    server.lose = (frame) => frame.type === "event" && frame.seq === 2 && lost++ === 0;
    for (let revision = 1; revision <= 4; revision++) server.put(TOPIC, { id: "a" }, revision);
    await pass(10);
    expect(heard.names).toEqual(["a@1", "a@2", "a@3", "a@4"]);
    expect(server.asked("replay")).toEqual([{ type: "replay", sub: "s1", after: 1 }]);
  });

  it("at the end are noticed by the next beat", async () => {
    const heard = listen(connect());
    await pass(10);
    let lost = 0;
    server.lose = (frame) => frame.type === "event" && lost++ === 0;
    server.put(TOPIC, { id: "a" }, 1);
    await pass(1000);
    expect(heard.names).toEqual(["a@1"]);
  });

  it("at the end are noticed without the beat too", async () => {
    const heard = listen(connect());
    await pass(1100);
    let lost = 0;
    server.lose = (frame) => frame.type === "beat" || (frame.type === "event" && lost++ === 0);
    server.put(TOPIC, { id: "a" }, 1);
    await pass(2000);
    expect(heard.names).toEqual(["a@1"]);
  });

  it("that nobody has any more lead to a snapshot, and to the news that it holds", async () => {
    const heard = listen(connect());
    await pass(10);
    server.lose = (frame) => frame.type === "event";
    for (let n = 1; n <= 150; n++) server.put(TOPIC, { id: `job-${n % 3}` }, n);
    server.lose = () => false;
    await pass(1100);
    expect(heard.shown).toEqual(truth());
    expect(heard.names.sort()).toEqual(["job-0@150", "job-1@148", "job-2@149"]);
  });

  it("of the replay itself are asked for again; after some tries for a snapshot", async () => {
    const heard = listen(connect());
    await pass(10);
    server.lose = (frame) => frame.type === "event" && frame.seq === 2;
    for (let n = 1; n <= 3; n++) server.put(TOPIC, { id: "a" }, n);
    await pass(1500);
    expect(server.asked("replay")).toHaveLength(3);
    expect(heard.shown).toEqual(truth());
    server.put(TOPIC, { id: "a" }, 4);
    await pass(10);
    expect(heard.shown).toEqual(truth());
  });

  it("of the snapshot are asked for again", async () => {
    server.putQuietly(TOPIC, { id: "a" }, 1);
    let lost = 0;
    server.lose = (frame) => frame.type === "snapshot" && lost++ === 0;
    const heard = listen(connect());
    await pass(2100);
    expect(heard.shown).toEqual({ a: 1 });
  });

  it.each([1, 2, 3, 4, 5])("one in ten of all: the page is right two seconds later (%i)", async (seed) => {
    const random = dice(seed);
    const client = connect({ dropFrames: 0.1, random });
    const heard = listen(client);
    await pass(3000);
    for (let step = 0; step < 300; step++) {
      server.put(TOPIC, { id: `job-${step % 20}`, status: step > 280 ? "completed" : "running" }, step + 1);
      await pass(17);
    }
    await pass(2000);
    expect(heard.shown).toEqual(truth());
    expect(client.framesDropped).toBeGreaterThan(20);
    const updates = heard.events.filter((event) => event.name === "job_update");
    expect(updates.map((event) => event.revision)).toEqual(updates.map((_, n) => n + 1));
  });

  it("are a share", () => {
    expect(() => connect({ dropFrames: 10 })).toThrow(/between 0 and 1/);
    expect(() => (connect().dropFrames = -1)).toThrow(/between 0 and 1/);
  });
});

describe("a server", () => {
  it("that restarts has an epoch of its own: nothing is kept of the old numbers", async () => {
    const heard = listen(connect());
    await pass(10);
    for (let n = 1; n <= 5; n++) server.put(TOPIC, { id: "a" }, n);
    await pass(10);
    server.restart("two");
    server.putQuietly(TOPIC, { id: "a", status: "completed" }, 6);
    expect(heard.state!.synced).toBe(false);
    await pass(1100);
    expect(heard.shown).toEqual({ a: 6 });
    expect(heard.state!.synced).toBe(true);
    expect(heard.names.at(-1)).toBe("a@6");
    server.put(TOPIC, { id: "a" }, 7);
    await pass(10);
    expect(heard.shown).toEqual({ a: 7 });
  });

  it("of the same epoch tells what was missed, and nothing twice", async () => {
    const heard = listen(connect());
    await pass(10);
    server.put(TOPIC, { id: "a" }, 1);
    await pass(10);
    server.cut();
    server.put(TOPIC, { id: "a" }, 2);
    await pass(1100);
    expect(heard.names).toEqual(["a@1", "a@2"]);
    const last = server.asked("subscribe").at(-1);
    expect(last).toMatchObject({ since: { epoch: "one", seq: 1 } });
    await pass(1000);
    expect(heard.state!.synced).toBe(true);
  });

  it("that counts anew under the same epoch is noticed", async () => {
    const heard = listen(connect());
    await pass(10);
    for (let n = 1; n <= 5; n++) server.put(TOPIC, { id: "a" }, n);
    await pass(10);
    server.stream(TOPIC).seq = 0;
    server.stream(TOPIC).kept.clear();
    server.put(TOPIC, { id: "a" }, 6);
    await pass(2100);
    expect(heard.shown).toEqual({ a: 6 });
  });

  it("of another version is understood as far as it goes, and said to be of another", async () => {
    server.version = 2;
    const client = connect();
    const heard = listen(client);
    await pass(10);
    expect(client.statusEvent).toEqual({ status: "live", reason: "", outdated: true });
    const [socket] = server.sockets;
    socket!.push({ type: "brand_new", sub: "s1" });
    socket!.push({ type: "snapshot", sub: "s1", seq: 9, rows: [] });
    server.tell(TOPIC, { name: "job_vanished", id: "a" } as unknown as LiveEvent);
    server.put(TOPIC, { id: "a", colour: "blue" } as never, 1);
    await pass(10);
    expect(heard.names).toEqual(["a@1"]);
    expect(heard.shown).toEqual({ a: 1 });
  });

  it("that changes what it tells makes a newer page ask anew", async () => {
    server.version = 2;
    const heard = listen(connect());
    await pass(10);
    server.putQuietly(TOPIC, { id: "a" }, 1);
    server.tell(TOPIC, { name: "jobs_update", jobs: [] } as unknown as LiveEvent);
    await pass(1100);
    expect(heard.shown).toEqual({ a: 1 });
  });

  it("may send nonsense", async () => {
    const heard = listen(connect());
    await pass(10);
    const [socket] = server.sockets;
    socket!.onmessage!({ data: "{" });
    socket!.onmessage!({ data: "7" });
    socket!.onmessage!({ data: "null" });
    for (const frame of [{}, { type: "event" }, { type: "beat" }, { type: "error" }, { type: "snapshot" }]) socket!.push(frame);
    server.put(TOPIC, { id: "a" }, 1);
    await pass(10);
    expect(heard.names).toEqual(["a@1"]);
  });
});
