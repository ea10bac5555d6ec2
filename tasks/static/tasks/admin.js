// Small help for the admin pages; every verb works without it, a click later.
document.addEventListener("submit", (event) => {
    const question = event.target.dataset.jpConfirm;
    if (question && !window.confirm(question)) {
        event.preventDefault();
    }
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
