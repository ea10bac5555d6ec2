/**
 * - `connecting`: the first connection is on its way
 * - `live`: events arrive as they happen
 * - `polling`: no WebSocket can be had; the state is asked for every few seconds
 * - `lost`: neither; what is shown may be old. The client goes on trying
 * - `closed`: `close()` was called
 */
export type Status = "connecting" | "live" | "polling" | "lost" | "closed";

/** Why there is no connection; empty when there is one, or when nobody can tell. */
export type LostReason = "" | "unauthenticated" | "forbidden" | "refused" | "unreachable" | "silent" | "ticket";

export interface StatusEvent {
  status: Status;
  reason: LostReason;
  /** The server speaks another version of the wire than this client: all that is understood works on, and the
   * page is best loaded anew. */
  outdated: boolean;
}

/** What a close code says. Codes are listed with the live wire. */
export function reasonOf(code: number): LostReason {
  if (code === 4401) return "unauthenticated";
  if (code === 4403) return "forbidden";
  if (code === 4400 || code === 4404) return "refused";
  return "unreachable";
}
