// Small help for the pages of schedules; they work without it.
const KINDS = {
    cron: ["cron", "gap", "fold"],
    every: ["every", "anchor", "from_"],
    months: ["months", "anchor", "month_end"],
    at: ["at"],
    manual: [],
};

document.addEventListener("DOMContentLoaded", () => {
    // Of a timetable, only the fields of its kind.
    for (const form of document.querySelectorAll("form[data-jp-kind]")) {
        const kind = form.elements.kind;
        const own = new Set(Object.values(KINDS).flat());
        const show = () => {
            for (const field of form.querySelectorAll("[data-jp-field]")) {
                const name = field.dataset.jpField;
                field.hidden = own.has(name) && !KINDS[kind.value].includes(name);
            }
        };
        kind.addEventListener("change", show);
        show();
    }
});
