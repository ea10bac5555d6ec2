// The list of jobs, kept true in its place. What is told moves states, bars and attempts at once; which jobs the list's
// filters let in, what holds one back and who runs it, the server is asked, by ids and a few times a second at most.
import { cut, Marks } from "./bounds.js";
import { link } from "./link.js";
import { ended, putAge, putProgress, putState } from "./looks.js";

const ASK_MS = 350;
const LOOK_MS = 3000;
const MOST_ASKED = 50;
const MOST_PLACED = 25;
const QUIET_MS = 2500;
const MOST_MARKS = 5000;
const MOST_WANTED = 4 * MOST_ASKED;
const MOST_HELD = 200;
const MOST_BEYOND = 1000;

export class JobList {
    constructor(strip) {
        this.strip = strip;
        this.rowsUrl = strip.dataset.jpRows;
        this.query = strip.dataset.jpQuery;
        this.first = strip.dataset.jpFirst === "1";
        this.size = Number(strip.dataset.jpSize);
        this.drawn = Date.parse(strip.dataset.jpNow);
        this.news = strip.querySelector(".jp-news");
        this.template = document.getElementById("job-list-template");
        this.known = new Map(); // what is shown of each row: its revision, and the mark it was asked about with
        this.asked = new Marks(MOST_MARKS); // marks of jobs that are not on this page
        this.wanted = new Set();
        this.held = new Map(); // rows that may be placed when nobody works in the list
        this.beyond = new Set(); // jobs of the list that have no place on this page
        this.timer = undefined;
        this.busy = false;
        this.touched = Number.NEGATIVE_INFINITY;
        for (const row of this.rows()) this.known.set(idOf(row), { revision: -1, mark: "" });
    }

    start() {
        const synced = { before: false };
        link().subscribe("jobs", {
            limit: 100,
            onEvent: (event) => this.onEvent(event),
            onState: (state) => {
                if (state.synced && !synced.before) this.onSnapshot(state);
                synced.before = state.synced;
            },
        });
        this.news.addEventListener("click", (event) => {
            if (this.beyond.size) return; // a link to this page
            event.preventDefault();
            this.touched = Number.NEGATIVE_INFINITY;
            this.place(true);
        });
        for (const kind of ["pointermove", "pointerdown", "keydown", "focusin"]) {
            document.getElementById("changelist").addEventListener(kind, (event) => {
                if (event.target.closest?.("#result_list")) this.touched = performance.now();
            });
        }
        setInterval(() => this.look(), LOOK_MS);
        setInterval(() => this.place(false), 500);
    }

    rows() {
        return [...document.querySelectorAll("#result_list tr.data-row")];
    }

    onSnapshot(state) {
        for (const { revision, job } of state.jobs.values()) this.take(revision, job);
        this.look(true);
    }

    onEvent(event) {
        if (event.name === "job_update") this.take(event.revision, event.job);
        // Whether it has gone indeed, the server knows.
        if (event.name === "job_gone") this.ask(event.id);
    }

    take(revision, job) {
        const mark = [job.status, job.attempt, job.lease, job.status === "pending" ? revision : ""].join("/");
        const shown = this.known.get(job.id);
        if (!shown) {
            if (this.asked.put(job.id, mark)) this.ask(job.id);
            return;
        }
        if (revision <= shown.revision) return;
        shown.revision = revision;
        this.draw(rowOf(job.id), job);
        if (shown.mark !== mark) {
            shown.mark = mark;
            this.ask(job.id);
        }
    }

    /** What can be said without asking. */
    draw(row, job) {
        if (!row) return;
        const status = row.querySelector(".field-status");
        const before = status.querySelector(".jp-badge")?.textContent ?? "";
        if (before.split(":")[0] !== job.status) putState(status, job.status, "", job.reason);
        putProgress(row.querySelector(".field-progress"), job);
        row.querySelector("[data-jp-attempt]").textContent = String(job.attempt);
    }

    // -- asking ---------------------------------------------------------------------------------

    ask(id) {
        this.wanted.add(id);
        // Nobody is asked while the page is hidden, which may be for days.
        if (this.wanted.size > 4 * MOST_WANTED) this.shed();
        this.timer ??= setTimeout(() => this.send(), ASK_MS);
    }

    /** Of a flood, those that would have no place are not asked for one by one: the newest are. */
    shed() {
        const strangers = [...this.wanted].filter((id) => !this.known.has(id)).sort();
        for (const id of strangers.slice(0, Math.max(0, this.wanted.size - MOST_WANTED))) {
            if (!this.query) this.putBeyond(id);
            this.wanted.delete(id);
        }
    }

    putBeyond(id) {
        this.beyond.add(id);
        cut(this.beyond, MOST_BEYOND);
    }

    async send() {
        this.timer = undefined;
        if (this.busy || document.hidden) {
            this.timer = setTimeout(() => this.send(), ASK_MS);
            return;
        }
        // Rows that are shown come first, then the newest.
        const order = (id) => (this.known.has(id) ? "~" : "") + id;
        const ids = [...this.wanted].sort((one, other) => (order(one) < order(other) ? 1 : -1)).slice(0, MOST_ASKED);
        for (const id of ids) this.wanted.delete(id);
        if (this.wanted.size > MOST_WANTED) this.shed();
        this.busy = true;
        try {
            await this.fetched(ids);
        } catch {
            for (const id of ids) this.asked.forget(id);
        }
        this.busy = false;
        if (this.wanted.size) this.timer ??= setTimeout(() => this.send(), ASK_MS);
    }

    async fetched(ids) {
        const address = `${this.rowsUrl}?${new URLSearchParams({ ids: ids.join(","), list: this.query })}`;
        const answer = await fetch(address, { credentials: "same-origin", redirect: "manual" });
        if (!answer.ok) return;
        const found = new Set();
        for (const row of (await answer.json()).rows) {
            found.add(row.job.id);
            this.onRow(row);
        }
        for (const id of ids) if (!found.has(id)) this.gone(id);
        this.place(false);
    }

    /** Rows whose news may have been missed: the feed's snapshot holds the newest jobs alone. */
    look(all = false) {
        if (document.hidden || link().status === "lost") return;
        for (const row of this.rows()) {
            const badge = row.querySelector(".field-status .jp-badge");
            if (all || !ended(badge?.textContent.split(":")[0])) this.ask(idOf(row));
        }
    }

    onRow(told) {
        const { revision, job, listed } = told;
        const shown = this.known.get(job.id);
        if (shown) {
            if (revision < shown.revision) return;
            shown.revision = revision;
            const row = rowOf(job.id);
            if (!row) return;
            this.draw(row, job);
            this.settle(row, told);
        } else if (listed) {
            this.held.set(job.id, told);
            if (this.held.size > MOST_HELD) this.giveUp(this.held.values().next().value);
        } else {
            this.held.delete(job.id);
            this.beyond.delete(job.id);
        }
    }

    /** Too many wait for a place while somebody works in the list: this one will have none. */
    giveUp({ job }) {
        this.held.delete(job.id);
        if (this.spot(job) !== "elsewhere") this.putBeyond(job.id);
        if (Date.parse(job.created_at) >= this.drawn) this.recount(1);
    }

    settle(row, { job, hold, worker, listed }) {
        putState(row.querySelector(".field-status"), job.status, hold, job.reason);
        const runner = row.querySelector(".field-worker");
        const name = worker || "–";
        if (runner.textContent !== name) runner.textContent = name;
        mark(row, listed ? "" : "no longer matches");
    }

    gone(id) {
        const row = rowOf(id);
        if (row) mark(row, "removed");
        this.held.delete(id);
        this.beyond.delete(id);
    }

    // -- new rows --------------------------------------------------------------------------------

    /** Is somebody at work in the list, so that nothing may move under their hands? */
    inUse() {
        const table = document.getElementById("result_list");
        if (!table) return false;
        if (table.querySelector(".action-select:checked")) return true;
        return table.getBoundingClientRect().top < 0 || performance.now() - this.touched < QUIET_MS;
    }

    place(now) {
        if (this.held.size && (now || !this.inUse())) {
            const newest = [...this.held.values()].sort((one, other) => (one.job.id < other.job.id ? 1 : -1));
            let placed = 0;
            for (const row of newest) {
                const spot = this.spot(row.job);
                if (spot === "here" && placed < MOST_PLACED) {
                    this.insert(row);
                    placed += 1;
                } else if (spot !== "elsewhere") {
                    this.putBeyond(row.job.id);
                }
            }
            this.recount(newest.filter((row) => Date.parse(row.job.created_at) >= this.drawn).length);
            this.held.clear();
        }
        const size = this.held.size + this.beyond.size;
        this.news.hidden = !size;
        const text = `${size}${this.beyond.size < MOST_BEYOND ? "" : "+"} new – ${this.beyond.size ? "reload" : "show"}`;
        if (size && this.news.textContent !== text) this.news.textContent = text;
    }

    /** The number of rows below the list, where it was an exact one. */
    recount(more) {
        const count = document.querySelector("[data-jp-count]");
        if (!count) return;
        const sum = Number(count.dataset.jpCount) + more;
        count.dataset.jpCount = String(sum);
        count.textContent = `${sum.toLocaleString("en-US")} ${sum === 1 ? "job" : "jobs"}`;
    }

    /** Whether a job belongs among the rows of this page, before them as news, or to another page. */
    spot(job) {
        const rows = this.rows();
        const after = rows.findIndex((row) => idOf(row) < job.id);
        if (after < 0) return rows.length < this.size ? "here" : "elsewhere";
        if (after > 0 || this.first) return "here";
        // It was there when this page was drawn, or it has come since.
        return Date.parse(job.created_at) < this.drawn ? "elsewhere" : "beyond";
    }

    insert(told) {
        const { job, revision } = told;
        const after = this.rows().find((row) => idOf(row) < job.id);
        const table = this.table();
        const body = this.template.content.querySelector("#result_list tbody").cloneNode(true);
        if (after) after.closest("tbody").before(body);
        else table.append(body);
        this.fill(body.querySelector("tr.data-row"), told);
        this.known.set(job.id, { revision, mark: "" });
        for (const row of this.rows().slice(this.size)) {
            if (row.querySelector(".action-select:checked")) continue;
            this.known.delete(idOf(row));
            row.closest("tbody").remove();
        }
    }

    /** The table; an empty list has none yet. */
    table() {
        const there = document.getElementById("result_list");
        if (there) return there;
        const box = this.template.content.firstElementChild.cloneNode(true);
        for (const body of box.querySelectorAll("tbody")) body.remove();
        document.getElementById("job-list-empty").replaceChildren(box);
        return document.getElementById("result_list");
    }

    fill(row, told) {
        const { job } = told;
        row.classList.add("jp-fresh");
        const box = row.querySelector(".action-select");
        if (box) box.value = job.id;
        const anchor = row.querySelector(".field-what a");
        anchor.href = anchor.getAttribute("href").replace(this.strip.dataset.jpPlace, job.id);
        row.querySelector("[data-jp-id]").dataset.jpId = job.id;
        row.querySelector(".jp-what").textContent = job.app_id ? `${job.app_id}:${job.job_type}` : job.job_type;
        row.querySelector(".jp-id").textContent = job.id.slice(-12);
        row.querySelector(".field-queue").textContent = job.queue;
        row.querySelector(".field-urgency").textContent = told.priority;
        putAge(row.querySelector(".field-age"), job.created_at);
        row.querySelector("[data-jp-most]").textContent = String(told.max_attempts);
        this.draw(row, job);
        this.settle(row, told);
    }
}

function idOf(row) {
    return row.querySelector("[data-jp-id]").dataset.jpId;
}

function rowOf(id) {
    return document.querySelector(`#result_list [data-jp-id="${CSS.escape(id)}"]`)?.closest("tr") ?? null;
}

/** Says at the row why it will be gone with the next load; an empty word takes that back. */
function mark(row, word) {
    row.classList.toggle("jp-left", word !== "");
    const name = row.querySelector(".field-what");
    let note = name.querySelector(".jp-note");
    if (!word) {
        note?.remove();
        return;
    }
    if (!note) {
        note = document.createElement("small");
        note.className = "jp-note";
        (name.querySelector("a") ?? name).append(" ", note);
    }
    if (note.textContent !== word) note.textContent = word;
}

const strip = document.getElementById("job-list-live");
if (strip) new JobList(strip).start();
