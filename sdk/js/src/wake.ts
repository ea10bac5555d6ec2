const ASLEEP_MS = 5000;

/**
 * Calls `tick` about once a second, and `wake` when the page may have been asleep: it is shown again, the network
 * is back, or the last second took much longer than that. Returns the function that ends it.
 */
export function watch(everyMs: number, tick: () => void, wake: () => void): () => void {
  let last = Date.now();
  const timer = setInterval(() => {
    const passed = Date.now() - last;
    last = Date.now();
    if (passed > everyMs + ASLEEP_MS) wake();
    tick();
  }, everyMs);
  const shown = () => {
    if (globalThis.document?.visibilityState !== "hidden") wake();
  };
  const page = globalThis.document;
  const view = globalThis.window;
  page?.addEventListener("visibilitychange", shown);
  view?.addEventListener?.("online", wake);
  view?.addEventListener?.("pageshow", wakeIfKept);
  function wakeIfKept(event: PageTransitionEvent): void {
    if (event.persisted) wake();
  }
  return () => {
    clearInterval(timer);
    page?.removeEventListener("visibilitychange", shown);
    view?.removeEventListener?.("online", wake);
    view?.removeEventListener?.("pageshow", wakeIfKept);
  };
}
