/** Tells listeners; one that throws is reported and harms nobody. */
export class Signal<T> {
  private readonly listeners = new Set<(value: T) => void>();

  get size(): number {
    return this.listeners.size;
  }

  /** Returns the function that ends it. One function added twice is called twice. */
  add(listener: (value: T) => void): () => void {
    const own = (value: T) => listener(value);
    this.listeners.add(own);
    return () => void this.listeners.delete(own);
  }

  emit(value: T): void {
    for (const listener of [...this.listeners]) guarded(() => listener(value));
  }
}

/** Runs code of the page's; what it throws goes where uncaught errors go. */
export function guarded(run: () => void): void {
  try {
    run();
  } catch (error) {
    if (typeof globalThis.reportError === "function") globalThis.reportError(error);
    else console.error(error);
  }
}
