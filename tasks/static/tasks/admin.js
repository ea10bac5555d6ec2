// Small help for the admin pages; everything works without it, a click later.
document.addEventListener("submit", (event) => {
    const question = event.target.dataset.jpConfirm;
    if (question && !window.confirm(question)) {
        event.preventDefault();
    }
});
document.addEventListener("DOMContentLoaded", () => {
    document.querySelector("form[data-jp-next]")?.requestSubmit();
});
