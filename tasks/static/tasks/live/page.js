// Pages that are drawn by the server and kept true: what is told moves bars and states at once; whatever else it
// changes is fetched as the server draws it, and put in the place of the old.
//
// <div id="…" data-jp-live='["job:…"]' data-jp-pace="1000" data-jp-every="5000" data-jp-now="…">
import { Marks } from "./bounds.js";
import { link } from "./link.js";
import { putProgress, putState } from "./looks.js";
import { morph } from "./morph.js";

const SOON_MS = 60;
const MOST_SEEN = 5000;
const BODY = "X-Page-Part";

for (const part of document.querySelectorAll("[data-jp-live][id]")) keep(part);

function keep(part) {
    const refresh = refresher(part);
    for (const topic of JSON.parse(part.dataset.jpLive)) {
        const seen = new Marks(MOST_SEEN);
        let synced = false;
        const news = (job) => {
            paint(part, job);
            const mark = [job.status, job.attempt, job.lease, job.reason, job.error?.message].join("\n");
            return seen.put(job.id, mark);
        };
        link().subscribe(topic, {
            limit: Number(part.dataset.jpLimit ?? 50),
            onEvent: (event) => {
                if (event.name !== "job_update" || news(event.job)) refresh();
            },
            onState: (state) => {
                if (state.synced && !synced) {
                    for (const row of state.jobs.values()) news(row.job);
                    refresh();
                }
                synced = state.synced;
            },
        });
    }
}

/** Where a job stands on the page: its bar and its state are moved in their place. */
function paint(part, job) {
    for (const place of part.querySelectorAll(`[data-jp-job="${CSS.escape(job.id)}"]`)) {
        const progress = place.querySelector("[data-jp-progress]");
        if (progress) putProgress(progress, job);
        const state = place.querySelector("[data-jp-state]");
        // What holds a waiting job back is not told: the server draws it.
        if (state && job.status !== "pending") putState(state, job.status, "", job.reason);
    }
}

function refresher(part) {
    const pace = Number(part.dataset.jpPace ?? 1000);
    const every = Number(part.dataset.jpEvery ?? 0);
    let [last, timer, busy, again, leaving] = [Number.NEGATIVE_INFINITY, undefined, false, false, false];

    const soon = () => {
        if (timer !== undefined || leaving) return;
        if (busy || document.hidden) {
            again = true;
            return;
        }
        timer = setTimeout(run, Math.max(SOON_MS, last + pace - performance.now()));
    };
    const run = async () => {
        timer = undefined;
        [busy, again, last] = [true, false, performance.now()];
        try {
            await fetched(part, () => leaving);
        } catch {
            // The server is away, which the sign says; it is asked again when the connection is back.
        }
        busy = false;
        if (again) soon();
    };
    document.addEventListener("visibilitychange", () => !document.hidden && again && soon());
    // What a verb answers is told by the page that follows: nothing may fetch it first.
    document.addEventListener("submit", (event) => { leaving = !event.defaultPrevented; });
    addEventListener("pageshow", () => { leaving = false; });
    // While the connection is lost the server is not asked; without a topic there is no connection.
    const alone = part.dataset.jpLive === "[]";
    if (every) setInterval(() => !document.hidden && (alone || link().status !== "lost") && soon(), every);
    return soon;
}

async function fetched(part, leaving) {
    // Of a list, the table alone is put anew; around it are tools that somebody may be using.
    const name = part.dataset.jpPart ?? part.id;
    const answer = await fetch(location.href, { headers: { [BODY]: name }, credentials: "same-origin", redirect: "manual" });
    // Sent away: by the login, or because what the page shows is there no more.
    const gone = answer.type === "opaqueredirect" || [403, 404].includes(answer.status);
    if (gone || part.querySelector(":scope > .jp-gone")) tellGone(part, gone);
    if (gone || !answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(name);
    const shown = document.getElementById(name);
    if (fresh && shown && !leaving()) morph(shown, fresh);
}

function tellGone(part, gone) {
    part.querySelector(":scope > .jp-gone")?.remove();
    if (!gone) return;
    const note = document.createElement("p");
    note.className = "jp-gone";
    note.setAttribute("role", "status");
    note.textContent = "What this page shows is not there any more, or you have been signed out: load it again.";
    part.prepend(note);
}
