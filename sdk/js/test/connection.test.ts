import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LiveClient, type LiveOptions, type StatusEvent } from "../src";
import { backoff } from "../src/backoff";
import { dice, FakeServer } from "./fake-server";

const TOPIC = "type::t";
let server: FakeServer;
const clients: LiveClient[] = [];

function connect(more: LiveOptions = {}) {
  const client = new LiveClient(server.options({ stateEveryMs: 0, ...more }));
  clients.push(client);
  const statuses: string[] = [];
  client.onStatus((event: StatusEvent) => statuses.push(event.status));
  const shown: { jobs: Record<string, number>; names: string[] } = { jobs: {}, names: [] };
  client.subscribe(TOPIC, {
    onState: (state) => (shown.jobs = Object.fromEntries([...state.jobs].map(([id, row]) => [id, row.revision]))),
    onEvent: (event) => shown.names.push(event.name),
  });
  return { client, statuses, shown };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

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

describe("status", () => {
  it("tells of the first connection, its loss and its return", async () => {
    const { statuses, client } = connect();
    await pass(10);
    expect(statuses).toEqual(["connecting", "live"]);
    server.cut();
    expect(statuses.at(-1)).toBe("lost");
    await pass(1100);
    expect(statuses).toEqual(["connecting", "live", "lost", "live"]);
    client.close();
    expect(client.status).toBe("closed");
  });

  it("is lost, with the reason, while nobody answers", async () => {
    server.away = true;
    const { client, statuses } = connect();
    await pass(60_000);
    expect(client.statusEvent).toEqual({ status: "lost", reason: "unreachable", outdated: false });
    expect(statuses).toEqual(["connecting", "lost"]);
    server.away = false;
    await pass(16_000);
    expect(client.status).toBe("live");
  });

  it("says that the session has ended, and seldom tries again", async () => {
    const { client } = connect({ polling: false });
    await pass(10);
    server.cut(4401);
    expect(client.statusEvent.reason).toBe("unauthenticated");
    await pass(14_000);
    expect(server.attempts).toHaveLength(1);
    await pass(2000);
    expect(client.status).toBe("live");
  });
});

describe("reconnecting", () => {
  it("pauses longer each time, up to a limit, never in step", () => {
    expect(backoff(1, 1000, 15_000, () => 1)).toBe(1000);
    expect(backoff(3, 1000, 15_000, () => 1)).toBeCloseTo(2890);
    expect(backoff(50, 1000, 15_000, () => 1)).toBe(15_000);
    expect(backoff(50, 1000, 15_000, () => 0)).toBe(3750);
  });

  it("of two hundred clients is spread from the first attempt on", () => {
    const random = dice(7);
    const attempts: number[] = [];
    for (let client = 0; client < 200; client++) {
      let at = 0;
      for (let failures = 1; failures <= 12; failures++) {
        at += backoff(failures, 1000, 15_000, random);
        attempts.push(Math.floor(at / 100));
      }
    }
    const inTenth = (tenth: number) => attempts.filter((each) => each === tenth).length;
    const most = (from: number, to: number) => Math.max(...Array.from({ length: to - from }, (_, n) => inTenth(from + n)));
    expect(most(0, 20)).toBeLessThan(60);
    expect(most(100, 400)).toBeLessThan(20);
  });

  it("of many clients succeeds for all of them, at different times", async () => {
    for (let n = 0; n < 20; n++) connect({ polling: false });
    await pass(10);
    server.attempts = [];
    server.cut();
    await pass(1100);
    expect(clients.every((client) => client.status === "live")).toBe(true);
    expect(new Set(server.attempts).size).toBeGreaterThan(15);
  });

  it("does not hurry after a connection that ends at once", async () => {
    connect({ polling: false, random: () => 1 });
    const hang = setInterval(() => server.cut(), 5);
    await pass(30_000);
    clearInterval(hang);
    expect(server.attempts.length).toBeLessThan(9);
  });

  it("by hand is at once", async () => {
    const { client } = connect();
    await pass(10);
    client.reconnect();
    expect(client.status).toBe("lost");
    await pass(10);
    expect(client.status).toBe("live");
    expect(server.sockets.size).toBe(1);
    client.close();
    client.reconnect();
    await pass(10);
    expect(client.status).toBe("live");
  });

  it("asks for a ticket each time, and lives with one that cannot be had", async () => {
    let count = 0;
    const ticket = async () => {
      count += 1;
      if (count === 2) throw new Error("none");
      return `t/${count}`;
    };
    const { client } = connect({ ticket, polling: false });
    await pass(10);
    server.cut();
    await pass(5000);
    expect(client.status).toBe("live");
    expect(server.addresses).toEqual(["wss://jobs.example/live/ws?ticket=t%2F1", "wss://jobs.example/live/ws?ticket=t%2F3"]);
  });

  it("gives up on a connection that says nothing", async () => {
    server.mute = true;
    const { client } = connect({ polling: false, random: () => 1 });
    await pass(10_100);
    expect(client.statusEvent.reason).toBe("unreachable");
    server.mute = false;
    await pass(2000);
    expect(client.status).toBe("live");
  });

  it("notices a connection that is open and dead", async () => {
    const { client } = connect({ polling: false });
    await pass(10);
    server.freeze();
    const reasons: string[] = [];
    client.onStatus((event) => reasons.push(event.reason));
    await pass(8000);
    expect(reasons).toContain("silent");
    expect(client.status).toBe("live");
  });
});

describe("polling", () => {
  it("takes over while no WebSocket can be had, with the same events", async () => {
    server.blocked = true;
    server.putQuietly(TOPIC, { id: "a" }, 1);
    const { client, shown } = connect();
    await pass(2600);
    expect(client.status).toBe("polling");
    expect(shown).toEqual({ jobs: { a: 1 }, names: [] });
    server.putQuietly(TOPIC, { id: "a" }, 2);
    server.putQuietly(TOPIC, { id: "b" }, 1);
    server.runs(TOPIC, "b", true);
    await pass(2500);
    expect(shown.jobs).toEqual({ a: 2, b: 1 });
    expect(shown.names).toEqual(["job_update", "job_update", "job_run_started"]);
    server.stream(TOPIC).jobs.delete("a");
    server.putQuietly(TOPIC, { id: "b", status: "completed" }, 2);
    server.runs(TOPIC, "b", false);
    await pass(2500);
    expect(shown.jobs).toEqual({ b: 2 });
    expect(shown.names.slice(3)).toEqual(["job_update", "job_gone", "job_run_ended"]);
  });

  it("tells of runs that began and ended between two polls, once", async () => {
    server.blocked = true;
    const at = (second: number) => ({ started_at: `2026-01-01T12:00:0${second}Z`, finished_at: `2026-01-01T12:00:0${second + 1}Z` });
    const done = { status: "completed", lease: 1, ...at(0) } as const;
    server.putQuietly(TOPIC, { id: "a", ...done }, 1);
    server.putQuietly(TOPIC, { id: "b", status: "pending", lease: 0 }, 1);
    const { shown } = connect();
    await pass(2600);
    server.putQuietly(TOPIC, { id: "b", ...done }, 3);
    server.putQuietly(TOPIC, { id: "c", ...done }, 3);
    server.putQuietly(TOPIC, { id: "d", status: "cancelled" }, 2);
    await pass(10_000);
    expect(shown.names.filter((name) => name === "job_run_started")).toHaveLength(2);
    expect(shown.names.filter((name) => name === "job_run_ended")).toHaveLength(2);
    server.putQuietly(TOPIC, { id: "b", ...done, ...at(5), lease: 2 }, 6);
    await pass(10_000);
    expect(shown.names.filter((name) => name === "job_run_ended")).toHaveLength(3);
  });

  it("ends when a WebSocket can be had again", async () => {
    server.blocked = true;
    const { client, shown } = connect();
    await pass(5000);
    server.blocked = false;
    await pass(16_000);
    expect(client.status).toBe("live");
    const before = server.polls.length;
    server.put(TOPIC, { id: "a" }, 1);
    await pass(10_000);
    expect(server.polls).toHaveLength(before);
    expect(shown.names).toEqual(["job_update"]);
  });

  it("hears of a refusal", async () => {
    server.blocked = true;
    server.refusals.set("jobs", { code: "FORBIDDEN", message: "not for you" });
    const { client } = connect();
    const errors: string[] = [];
    client.subscribe("jobs", { onError: (error) => errors.push(error.code) });
    await pass(20_000);
    expect(errors).toEqual(["FORBIDDEN"]);
    expect(server.polls.filter((topic) => topic === "jobs")).toHaveLength(1);
  });

  it("is not done when it is not wanted", async () => {
    server.blocked = true;
    connect({ polling: false });
    await pass(20_000);
    expect(server.polls).toEqual([]);
  });
});

describe("a tab that slept", () => {
  it("asks for what it missed as soon as it is shown", async () => {
    const { shown } = connect();
    await pass(10);
    let lost = 0;
    server.lose = (frame) => frame.type === "event" && lost++ === 0;
    server.put(TOPIC, { id: "a" }, 1);
    await pass(10);
    expect(shown.jobs).toEqual({});
    document.dispatchEvent(new Event("visibilitychange"));
    await pass(10);
    expect(shown.jobs).toEqual({ a: 1 });
  });

  it("makes a new connection when its own died meanwhile", async () => {
    const { client, shown } = connect();
    await pass(10);
    server.freeze();
    // Nothing ran for an hour.
    vi.setSystemTime(Date.now() + 3_600_000);
    server.put(TOPIC, { id: "a" }, 1);
    await pass(5000);
    expect(client.status).toBe("live");
    expect(shown.jobs).toEqual({ a: 1 });
  });

  it("does not wait for the end of a pause", async () => {
    server.away = true;
    const { client } = connect({ polling: false, random: () => 1 });
    await pass(30_000);
    server.away = false;
    window.dispatchEvent(new Event("online"));
    await pass(320);
    expect(client.status).toBe("live");
  });
});
