/** What a client may be told. Every duration is in milliseconds. */
export interface LiveOptions {
  /** Where the live addresses are: `<url>/ws`, `<url>/poll`. Default: `/live` of the page's own host. */
  url?: string;
  /** Asked for a one-use ticket before each connection. Without it the page's session cookie is used. */
  ticket?: () => string | Promise<string>;
  /** Headers of polls, for pages that have no session cookie at the server. */
  pollHeaders?: () => Record<string, string> | Promise<Record<string, string>>;
  /** False: never poll, even while no WebSocket can be opened. */
  polling?: boolean;
  /** Poll when there has been no connection for this long. Default 2000. */
  pollAfterMs?: number;
  /** Time between two polls. Default 2000. */
  pollEveryMs?: number;
  /** The first pause before a reconnect, and the longest. Defaults 1000 and 15000. */
  backoffMs?: number;
  maxBackoffMs?: number;
  /** How long a connection may take to say hello. Default 10000. */
  helloMs?: number;
  /** State listeners are called at once, then at most this often. Default 50. */
  stateEveryMs?: number;
  /** A topic nobody listens to any more is kept this long, for pages that leave and come back. Default 250. */
  lingerMs?: number;
  /** The share of received frames that is thrown away unread, 0 to 1: to see that nothing depends on one. */
  dropFrames?: number;
  /** Replaced in tests. */
  WebSocket?: new (url: string) => WebSocket;
  fetch?: typeof fetch;
  random?: () => number;
}

export interface Settings {
  url: string;
  ticket: LiveOptions["ticket"];
  pollHeaders: LiveOptions["pollHeaders"];
  polling: boolean;
  pollAfterMs: number;
  pollEveryMs: number;
  backoffMs: number;
  maxBackoffMs: number;
  helloMs: number;
  stateEveryMs: number;
  lingerMs: number;
  dropFrames: number;
  WebSocket: (new (url: string) => WebSocket) | undefined;
  fetch: typeof fetch | undefined;
  random: () => number;
}

/** The options with what was left out. Throws a TypeError for a value that cannot be meant. */
export function settings(options: LiveOptions): Settings {
  const dropFrames = options.dropFrames ?? 0;
  checkShare(dropFrames);
  return {
    url: absolute(options.url ?? "/live"),
    ticket: options.ticket,
    pollHeaders: options.pollHeaders,
    polling: options.polling ?? true,
    pollAfterMs: options.pollAfterMs ?? 2000,
    pollEveryMs: options.pollEveryMs ?? 2000,
    backoffMs: options.backoffMs ?? 1000,
    maxBackoffMs: options.maxBackoffMs ?? 15_000,
    helloMs: options.helloMs ?? 10_000,
    stateEveryMs: options.stateEveryMs ?? 50,
    lingerMs: options.lingerMs ?? 250,
    dropFrames,
    WebSocket: options.WebSocket ?? globalThis.WebSocket,
    // Called through an arrow: a browser's own fetch refuses to be called as a method of something else.
    fetch: options.fetch ?? (globalThis.fetch && ((...args) => globalThis.fetch(...args))),
    random: options.random ?? Math.random,
  };
}

export function checkShare(share: number): void {
  if (!(share >= 0 && share <= 1)) throw new TypeError(`dropFrames is a share between 0 and 1, not ${share}`);
}

function absolute(url: string): string {
  // A page that is made on a server has no address yet; nothing connects there.
  const found = new URL(url, globalThis.location?.href ?? "http://localhost");
  if (!/^https?:$/.test(found.protocol)) throw new TypeError(`url is an http(s) address, not ${url}`);
  return found.href.replace(/\/+$/, "");
}
