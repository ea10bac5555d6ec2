import { act, cleanup, configure, renderHook } from "@testing-library/react";
import { type ReactNode, StrictMode } from "react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type JobOutput, type JobTally, LiveClient, type LiveEvent } from "../src";
import { LiveProvider, useJobEvents, useJobProgress, useJobSubscription, useJobTopic, useLiveStatus } from "../src/react";
import { FakeServer } from "./fake-server";

let server: FakeServer;
let client: LiveClient;

configure({ reactStrictMode: false });
const strict = ({ children }: { children: ReactNode }) => (
  <StrictMode>
    <LiveProvider client={client}>{children}</LiveProvider>
  </StrictMode>
);
const plain = ({ children }: { children: ReactNode }) => <LiveProvider client={client}>{children}</LiveProvider>;
const pass = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));
const subscribed = () => server.asked("subscribe").map((frame) => (frame as { topic: string }).topic);

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  server = new FakeServer();
  client = new LiveClient(server.options());
});

afterEach(async () => {
  cleanup();
  client.close();
  server.stop();
  await vi.advanceTimersByTimeAsync(300);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe.each([
  ["in strict mode", strict],
  ["without strict mode", plain],
])("%s", (_, wrapper) => {
  it("one subscription serves a hook that is mounted twice, and ends with it", async () => {
    const { unmount } = renderHook(() => useJobSubscription("a"), { wrapper });
    await pass(500);
    expect(subscribed()).toEqual(["job:a"]);
    unmount();
    await pass(500);
    expect(server.asked("unsubscribe")).toHaveLength(1);
  });

  it("useJobEvents hears each event once, of each type, and calls the newest function", async () => {
    const heard: string[] = [];
    const note = (mark: string) => (event: LiveEvent) => {
      if (event.name === "job_update") heard.push(`${mark} ${event.job.id}@${event.revision}`);
    };
    const view = renderHook(
      ({ mark, enabled }) => useJobEvents({ jobTypes: ["t", "u"], appId: "video", onEvent: note(mark), enabled }),
      { wrapper, initialProps: { mark: "first", enabled: true } },
    );
    await pass(10);
    expect(subscribed()).toEqual(["type:video:t", "type:video:u"]);
    server.put("type:video:t", { id: "a" }, 1);
    await pass(10);
    view.rerender({ mark: "second", enabled: true });
    server.put("type:video:u", { id: "b" }, 1);
    await pass(500);
    expect(heard).toEqual(["first a@1", "second b@1"]);
    expect(subscribed()).toHaveLength(2);
    view.rerender({ mark: "third", enabled: false });
    await pass(500);
    server.put("type:video:t", { id: "a" }, 2);
    await pass(10);
    expect(heard).toHaveLength(2);
    expect(server.asked("unsubscribe")).toHaveLength(2);
  });

  it("useJobSubscription follows a job, and another one when the id changes", async () => {
    server.putQuietly("job:a", { id: "a", status: "running" }, 1);
    server.putQuietly("job:b", { id: "b", status: "pending" }, 1);
    const view = renderHook(({ id }) => useJobSubscription(id), { wrapper, initialProps: { id: "a" as string | null } });
    expect(view.result.current).toEqual({ job: null, synced: false, gone: false, error: null });
    await pass(10);
    expect(view.result.current).toMatchObject({ job: { id: "a", status: "running" }, synced: true });
    server.put("job:a", { id: "a", status: "completed" }, 2);
    await pass(60);
    expect(view.result.current.job!.status).toBe("completed");
    server.stream("job:a").jobs.delete("a");
    server.tell("job:a", { name: "job_gone", id: "a" });
    await pass(60);
    expect(view.result.current).toMatchObject({ job: null, gone: true });
    view.rerender({ id: "b" });
    expect(view.result.current.job).toBe(null);
    await pass(60);
    expect(view.result.current).toMatchObject({ job: { id: "b" }, gone: false });
    view.rerender({ id: null });
    expect(view.result.current.job).toBe(null);
  });

  it("useJobSubscription says why there is no job", async () => {
    server.refusals.set("job:a", { code: "NOT_FOUND", message: "no such job" });
    const view = renderHook(() => useJobSubscription("a"), { wrapper });
    await pass(10);
    expect(view.result.current.error).toEqual({ code: "NOT_FOUND", message: "no such job" });
  });

  it("useJobTopic tells of starts and ends, of those too that nobody told", async () => {
    const told: string[] = [];
    const view = renderHook(
      () =>
        useJobTopic("t", {
          onStarted: (event) => told.push(`started ${event.job_id} by ${event.actor}`),
          onEnded: (event) => told.push(`ended ${event.job_id} ${event.success} ${event.reason}`),
        }),
      { wrapper },
    );
    await pass(10);
    const run = { app_id: "", job_type: "t", job_id: "a" };
    server.tell("type::t", { name: "job_run_started", ...run, started_at: null, actor: "ann" });
    await pass(60);
    expect(view.result.current.map((each) => each.job_id)).toEqual(["a"]);
    server.tell("type::t", { name: "job_run_ended", ...run, success: true, reason: "", ended_at: null });
    await pass(10);
    server.runs("type::t", "b", true);
    act(() => server.restart("two"));
    await pass(1200);
    server.putQuietly("type::t", { id: "b", status: "failed", reason: "timeout" }, 1);
    server.runs("type::t", "b", false);
    act(() => server.restart("three"));
    await pass(2500);
    expect(told).toEqual(["started a by ann", "ended a true ", "started b by ann", "ended b false timeout"]);
    expect(view.result.current).toEqual([]);
  });

  it("useJobProgress counts per entity, and says once when one has settled", async () => {
    const settled: Array<[string, JobTally]> = [];
    const resolveEntityId = (job: JobOutput) => job.params.folder as string;
    const put = (id: string, folder: string, status: JobOutput["status"], revision: number, minute: number) => {
      const ended = status === "completed" || status === "failed";
      const created_at = `2026-01-01T12:${minute}:00Z`;
      const finished_at = ended ? `2026-01-01T12:${minute + 1}:00Z` : null;
      server.put("type::t", { id, params: { folder }, status, created_at, finished_at }, revision);
    };
    put("old", "x", "completed", 1, 10);
    put("a", "x", "running", 1, 20);
    put("b", "x", "pending", 1, 20);
    put("c", "y", "completed", 1, 20);
    const view = renderHook(
      () => useJobProgress({ jobTypes: ["t"], resolveEntityId, onSettled: (...each) => settled.push(each) }),
      { wrapper },
    );
    expect(view.result.current).toEqual({});
    await pass(60);
    expect(view.result.current.x).toMatchObject({ isActive: true, total: 2, running: 1, pending: 1, pct: 0 });
    expect(view.result.current.y).toMatchObject({ isActive: false, completed: 1, pct: 100 });
    put("a", "x", "completed", 2, 20);
    await pass(60);
    expect(view.result.current.x).toMatchObject({ isActive: true, completed: 1, pct: 50 });
    expect(settled).toEqual([]);
    // It ends, and the next begins, before the page has drawn either.
    put("b", "x", "failed", 2, 20);
    put("d", "x", "running", 1, 30);
    await pass(60);
    expect(settled).toEqual([["x", { ...view.result.current.x, isActive: false, total: 2, completed: 1, failed: 1, running: 0, pct: 100 }]]);
    expect(view.result.current.x).toMatchObject({ isActive: true, total: 1, running: 1 });
    put("d", "x", "completed", 2, 30);
    await pass(60);
    expect(settled.map(([entity, tally]) => `${entity} ${tally.total}`)).toEqual(["x 2", "x 1"]);
  });

  it("useLiveStatus follows the connection", async () => {
    const view = renderHook(
      () => {
        useJobSubscription("a");
        return useLiveStatus();
      },
      { wrapper },
    );
    expect(view.result.current.status).toBe("connecting");
    await pass(10);
    expect(view.result.current.status).toBe("live");
    act(() => server.cut());
    expect(view.result.current.status).toBe("lost");
  });
});
