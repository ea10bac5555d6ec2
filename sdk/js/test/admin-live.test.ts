// The admin's own scripts, which have no build: what they remember of a page that stays open has an end.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

const SCRIPTS = "../../../tasks/static/tasks/live";
vi.mock("../../../tasks/static/tasks/live/link.js", () => ({ link: () => ({ status: "live", subscribe: () => () => {} }) }));

const load = (name: string) => import(/* @vite-ignore */ `${SCRIPTS}/${name}.js`);
const id = (n: number) => `job-${String(n).padStart(6, "0")}`;
const job = (n: number) => ({ id: id(n), status: "pending", attempt: 0, lease: 0, created_at: "2026-01-02T00:00:00Z" });

describe("the list of jobs", () => {
  const row = `<tr class="data-row"><td class="field-what"><span data-jp-id="${id(0)}"></span></td></tr>`;
  let hidden = true;

  async function open() {
    document.body.innerHTML = `<div id="strip" data-jp-rows="/rows" data-jp-query="" data-jp-first="1" data-jp-size="100"
      data-jp-now="2026-01-01T00:00:00Z"><a class="jp-news" hidden></a></div>
      <div id="changelist"><table id="result_list"><tbody>${row}</tbody></table></div>`;
    const { JobList } = await load("list");
    return new JobList(document.getElementById("strip"));
  }

  beforeEach(() => {
    vi.useFakeTimers();
    hidden = true;
    vi.spyOn(document, "hidden", "get").mockImplementation(() => hidden);
  });

  afterEach(() => {
    vi.useRealTimers();
    document.body.innerHTML = "";
  });

  it("remembers a bounded number of jobs while it is hidden, the newest and those it shows", async () => {
    const list = await open();
    list.ask(id(0));
    for (let n = 1; n <= 6000; n++) list.take(1, job(n));
    expect(list.wanted.size).toBeLessThanOrEqual(800);
    expect(list.wanted.has(id(0))).toBe(true);
    expect(list.wanted.has(id(6000))).toBe(true);
    expect(list.beyond.size).toBeLessThanOrEqual(1000);
    list.place(false);
    expect(list.news.textContent).toBe("1000+ new – reload");
  });

  it("asks for the newest of them when it is seen again", async () => {
    const list = await open();
    for (let n = 1; n <= 6000; n++) list.take(1, job(n));
    const fetch = vi.fn(async (_address: string) => new Response("", { status: 503 }));
    vi.stubGlobal("fetch", fetch);
    await vi.advanceTimersByTimeAsync(1000);
    expect(fetch).not.toHaveBeenCalled();
    hidden = false;
    await vi.advanceTimersByTimeAsync(400);
    const asked = new URL(fetch.mock.calls[0]![0], "https://jobs.example").searchParams.get("ids")!.split(",");
    expect(asked).toHaveLength(50);
    expect(asked[0]).toBe(id(6000));
    await vi.advanceTimersByTimeAsync(5000);
    expect(list.wanted.size).toBe(0);
  });

  it("holds a bounded number of rows back from somebody who works in it", async () => {
    const list = await open();
    list.touched = performance.now();
    for (let n = 1; n <= 500; n++) list.onRow({ revision: 1, job: job(n), listed: true });
    expect(list.held.size).toBe(200);
    expect(list.held.has(id(500))).toBe(true);
    list.place(false);
    expect(list.news.textContent).toBe("500 new – reload");
  });
});

describe("marks", () => {
  it("are those of the jobs that were marked last", async () => {
    const { Marks } = await load("bounds");
    const marks = new Marks(3);
    for (const name of ["a", "b", "c"]) expect(marks.put(name, "1")).toBe(true);
    expect(marks.put("a", "1")).toBe(false);
    expect(marks.put("d", "1")).toBe(true);
    expect(marks.put("a", "1")).toBe(false);
    expect(marks.put("b", "1")).toBe(true);
    expect(marks.put("d", "2")).toBe(true);
    expect(marks.marks.size).toBe(3);
  });
});
