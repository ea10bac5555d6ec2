// Makes one tree of elements like another and keeps what the reader does to it: the focus, what is unfolded, where it
// is scrolled, what is typed.

// Set by scripts or by the reader, and by no server.
const OWN = new Set(["open", "data-jp-until", "data-jp-sent"]);

function alike(one, other) {
    return one.nodeType === other.nodeType && one.nodeName === other.nodeName && key(one) === key(other);
}

function key(node) {
    if (node.nodeType !== Node.ELEMENT_NODE) return "";
    // A row of a list is that of its record: what was selected must stay what it was.
    if (node.nodeName === "TBODY") return node.querySelector(".action-select")?.value ?? "";
    return node.dataset?.jpKey ?? node.id ?? "";
}

export function morph(old, fresh) {
    if (old.nodeType !== Node.ELEMENT_NODE) {
        if (old.data !== fresh.data) old.data = fresh.data;
        return;
    }
    // A sign is the page's own: it knows better than the server how the connection stands.
    if (old.classList.contains("jp-sign")) return;
    attributes(old, fresh);
    children(old, fresh);
}

function attributes(old, fresh) {
    for (const { name } of [...old.attributes]) {
        if (!fresh.hasAttribute(name) && !OWN.has(name)) old.removeAttribute(name);
    }
    const selected = old.classList.contains("selected");
    for (const { name, value } of fresh.attributes) {
        if (!OWN.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    if (selected) old.classList.add("selected");
}

function children(old, fresh) {
    let at = old.firstChild;
    for (const wanted of [...fresh.childNodes]) {
        const found = place(at, wanted);
        if (!found) {
            old.insertBefore(document.adoptNode(wanted), at);
            continue;
        }
        // It may have stood further down; what is not wanted is left over at the end.
        if (found === at) at = at.nextSibling;
        else old.insertBefore(found, at);
        morph(found, wanted);
    }
    while (at) {
        const gone = at;
        at = at.nextSibling;
        gone.remove();
    }
}

/** The next sibling that stands for `wanted`: one of its name and key, and without a key the next one before any that has one. */
function place(from, wanted) {
    if (!from) return null;
    if (!key(wanted)) {
        // Never one that has a key of its own: it is that one still.
        for (let node = from; node && !key(node); node = node.nextSibling) if (alike(node, wanted)) return node;
        return null;
    }
    for (let node = from; node; node = node.nextSibling) if (alike(node, wanted)) return node;
    return null;
}
