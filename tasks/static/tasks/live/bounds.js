// A page may stay open for weeks: what it remembers has an end.

/** Forgets of a Map or Set what was put in first, until it holds `most`. */
export function cut(kept, most) {
    for (const key of kept.keys()) {
        if (kept.size <= most) return;
        kept.delete(key);
    }
}

/** The last mark of each id, of the `most` that were marked last. */
export class Marks {
    constructor(most) {
        this.most = most;
        this.marks = new Map();
    }

    /** Puts a mark; false when it is the one that was there. */
    put(id, mark) {
        const changed = this.marks.get(id) !== mark;
        this.marks.delete(id);
        this.marks.set(id, mark);
        cut(this.marks, this.most);
        return changed;
    }

    forget(id) {
        this.marks.delete(id);
    }
}
