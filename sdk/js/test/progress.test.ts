import { describe, expect, it } from "vitest";
import { bursts, type JobOutput, tallies } from "../src";
import { makeJob } from "./fake-server";

const resolveEntityId = (job: JobOutput) => (job.params.folder as string | undefined) ?? null;
const at = (minute: number) => `2026-01-01T12:${String(minute).padStart(2, "0")}:00Z`;
let ids = 0;

function job(folder: string | null, status: JobOutput["status"], from: number, to?: number, pct?: number): JobOutput {
  return makeJob({
    id: `job-${ids++}`,
    status,
    params: folder === null ? {} : { folder },
    created_at: at(from),
    finished_at: to === undefined ? null : at(to),
    progress: { done: null, total: null, label: "", pct: pct ?? null, eta_seconds: null },
  });
}

const of = (...jobs: JobOutput[]) => tallies(jobs, { resolveEntityId });

describe("tallies", () => {
  it("count each state, and how far all of it is", () => {
    const found = of(
      job("a", "completed", 0, 5),
      job("a", "failed", 0, 3),
      job("a", "cancelled", 0, 3),
      job("a", "running", 0, undefined, 50),
      job("a", "waiting", 0),
      job("a", "pending", 0),
      job("a", "dispatched", 0),
      job("a", "paused", 0),
      job("b", "completed", 0, 1),
      job(null, "running", 0),
    );
    expect(Object.keys(found)).toEqual(["a", "b"]);
    expect(found.a).toEqual({
      isActive: true,
      total: 8,
      completed: 1,
      running: 2,
      pending: 3,
      failed: 1,
      cancelled: 1,
      pct: 43.8,
    });
    expect(found.b).toMatchObject({ isActive: false, total: 1, completed: 1, pct: 100 });
  });

  it("begin anew with work that was made after all before had ended", () => {
    const old = [job("a", "completed", 0, 5), job("a", "completed", 3, 6)];
    const fresh = [job("a", "completed", 7, 9), job("a", "running", 8)];
    expect(of(...fresh, ...old).a).toMatchObject({ total: 2, completed: 1, isActive: true });
    expect(bursts([...fresh, ...old], { resolveEntityId }).get("a")).toHaveLength(2);
  });

  it("keep together what overlaps in a chain, in whatever order it is told", () => {
    const chain = [job("a", "completed", 0, 4), job("a", "completed", 3, 8), job("a", "completed", 8, 9), job("a", "running", 9)];
    expect(of(...chain).a!.total).toBe(4);
    expect(of(...chain.reverse()).a!.total).toBe(4);
  });

  it("take entities of any name", () => {
    expect(of(job("__proto__", "running", 0))["__proto__"]).toMatchObject({ total: 1 });
  });
});
