// The page's one connection, and the sign that says how it stands. The sign heals with the connection.
import { LiveClient } from "../sdk/live.js";
import { setClock, tick } from "./looks.js";

const WORDS = {
    connecting: ["Connecting …", "The page shows what was when it was loaded."],
    live: ["Live", "Changes are shown as they happen."],
    polling: ["Polling", "There is no live connection; the server is asked every few seconds."],
    lost: ["Connection lost", "The server is not reached. It is tried again and again; the page may be old."],
    closed: ["Stopped", "Reload the page to go on."],
};
const REASONS = {
    unauthenticated: ["Signed out", "Sign in again and reload the page."],
    forbidden: ["Not allowed", "The server does not let this page listen."],
};

let client;

/** The client of this page; connects when something is subscribed to. */
export function link() {
    if (client) return client;
    setClock(document.querySelector("[data-jp-now]")?.dataset.jpNow);
    client = new LiveClient();
    client.onStatus(show);
    addEventListener("online", () => client.reconnect());
    document.addEventListener("click", (event) => {
        if (event.target.closest?.("[data-jp-reconnect]")) client.reconnect();
    });
    tick();
    return client;
}

function show({ status, reason, outdated }) {
    let [word, meaning] = (status === "lost" && REASONS[reason]) || WORDS[status];
    if (outdated) meaning = "The server has been renewed: reload the page.";
    for (const sign of document.querySelectorAll(".jp-sign")) {
        sign.dataset.status = status;
        sign.title = meaning;
        const text = sign.querySelector(".jp-sign-word");
        if (text.textContent !== word) text.textContent = word;
        const again = sign.querySelector("[data-jp-reconnect]");
        if (again) again.hidden = status !== "lost" && status !== "polling";
    }
}
