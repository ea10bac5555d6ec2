// Small help for the admin pages; every verb works without it, a click later.
document.addEventListener("submit", (event) => {
    const question = event.target.dataset.jpConfirm;
    // Sent twice by a double click, it is sent once.
    if (event.target.dataset.jpSent !== undefined || (question && !window.confirm(question))) {
        event.preventDefault();
    } else if (event.target.getAttribute("method")?.toLowerCase() === "post") {
        event.target.dataset.jpSent = "";
    }
});

// Back from the answer, what was sent may be sent again.
window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-jp-sent]")) delete form.dataset.jpSent;
});

document.addEventListener("DOMContentLoaded", () => {
    document.querySelector("form[data-jp-next]")?.requestSubmit();
    // The theme draws some buttons as links that lead nowhere: the keyboard would pass them by.
    for (const link of document.querySelectorAll("#changelist a:not([href])")) {
        link.tabIndex = 0;
        link.setAttribute("role", "button");
        link.addEventListener("keydown", (event) => {
            if (event.key === "Enter" || event.key === " ") {
                event.preventDefault();
                link.click();
            }
        });
    }
});

// "Copy" beside a text that is shown once.
document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-jp-copy]");
    if (!button) return;
    const shown = document.getElementById(button.dataset.jpCopy);
    try {
        await navigator.clipboard.writeText(shown.textContent);
        button.textContent = "Copied";
    } catch {
        // Not allowed here: selected, it is copied by hand.
        getSelection().selectAllChildren(shown);
    }
});
