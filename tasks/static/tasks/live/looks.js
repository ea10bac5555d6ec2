// How single values look, as tasks/admin/shapes.py draws them. Whatever is told becomes text, never markup.

const TONES = {
    pending: "waiting", dispatched: "moving", running: "moving", waiting: "waiting", paused: "warning",
    completed: "good", failed: "bad", cancelled: "quiet",
};
const ENDED = new Set(["completed", "failed", "cancelled"]);
const NOTHING = "–";
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const two = (number) => String(number).padStart(2, "0");

// The server's clock beside this one's: a browser may be minutes wrong.
let ahead = 0;

export function ended(status) {
    return ENDED.has(status);
}

export function setClock(text) {
    const told = Date.parse(text ?? "");
    if (!Number.isNaN(told)) ahead = told - Date.now();
}

function now() {
    return Date.now() + ahead;
}

export function short(milliseconds) {
    const ms = Math.max(0, Math.trunc(milliseconds));
    if (ms < 1000) return `${ms}ms`;
    if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
    const seconds = Math.floor(ms / 1000);
    if (seconds < 3600) return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`;
    if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h${two(Math.floor((seconds % 3600) / 60))}m`;
    return `${Math.floor(seconds / 86_400)}d${two(Math.floor((seconds % 86_400) / 3600))}h`;
}

function element(tag, className, text) {
    const made = document.createElement(tag);
    made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
}

function put(node, text) {
    if (node.textContent !== text) node.textContent = text;
}

/** Draws the state into `cell`, by the badge that is there if there is one. */
export function putState(cell, status, hold, title) {
    let badge = cell.querySelector(".jp-badge");
    if (!badge) {
        badge = element("span", "");
        cell.replaceChildren(badge);
    }
    badge.className = `jp-badge jp-${TONES[status] ?? "quiet"}`;
    badge.title = title ?? "";
    put(badge, hold ? `${status}: ${hold}` : status);
}

/** Draws the progress of a JobOutput into `cell`; of one that has ended, how far it came. */
export function putProgress(cell, job) {
    const { done = null, total = null, label = "", eta_seconds: eta = null } = job.progress ?? {};
    if (done === null) {
        // Its place stays as wide as a bar, so that nothing moves when one comes.
        if (cell.querySelector(".jp-progress")) cell.replaceChildren(NOTHING);
        return;
    }
    const bare = !total || total <= 0;
    let shown = cell.querySelector(".jp-progress");
    if (!shown || shown.classList.contains("jp-bare") !== bare) {
        shown = bare ? bareCount() : emptyBar();
        cell.replaceChildren(shown);
    }
    const told = bare ? label : `${whole.format(done)} of ${whole.format(total)}${label ? ` – ${label}` : ""}`;
    if (shown.title !== told) shown.title = told;
    if (bare) {
        put(shown.querySelector(".jp-percent"), whole.format(done));
    } else {
        const percent = String(Math.round(100 * Math.max(0, Math.min(done / total, 1))));
        const bar = shown.querySelector("progress");
        if (bar.getAttribute("value") !== percent) bar.setAttribute("value", percent);
        put(bar, `${percent}%`);
        put(shown.querySelector(".jp-percent"), `${percent}%`);
    }
    putEta(shown.querySelector(".jp-eta"), ended(job.status) ? null : eta);
}

function bareCount() {
    const made = element("span", "jp-progress jp-bare");
    made.append(element("span", "jp-percent"), element("small", "jp-eta"));
    return made;
}

function emptyBar() {
    const made = element("span", "jp-progress");
    const bar = element("progress", "");
    bar.max = 100;
    bar.setAttribute("aria-label", "Progress");
    made.append(bar, element("span", "jp-percent"), element("small", "jp-eta"));
    return made;
}

function putEta(node, seconds) {
    if (!node) return;
    if (seconds === null) delete node.dataset.jpUntil;
    else node.dataset.jpUntil = new Date(now() + 1000 * seconds).toISOString();
    put(node, seconds === null ? "" : left(seconds));
}

function left(seconds) {
    return `${seconds < 60 ? `${Math.ceil(seconds)}s` : short(1000 * seconds)} left`;
}

/** Ages grow and times left shrink each second, as long as the page is looked at. */
export function tick() {
    setInterval(() => {
        if (document.hidden) return;
        for (const time of document.querySelectorAll("time[data-jp-age]")) put(time, short(now() - Date.parse(time.dateTime)));
        for (const eta of document.querySelectorAll(".jp-eta[data-jp-until]")) {
            put(eta, left(Math.max(0, (Date.parse(eta.dataset.jpUntil) - now()) / 1000)));
        }
    }, 1000);
}

export function putAge(cell, created) {
    const time = cell.querySelector("time") ?? element("time", "jp-nowrap");
    time.dateTime = created;
    time.dataset.jpAge = "";
    time.title = new Date(created).toLocaleString();
    put(time, short(now() - Date.parse(created)));
    if (!time.isConnected) cell.replaceChildren(time);
}
