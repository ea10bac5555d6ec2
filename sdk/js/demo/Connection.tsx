import type { Status } from "@jobsplatform/live";
import { useLiveClient, useLiveStatus } from "@jobsplatform/live/react";
import { useEffect, useState } from "react";

const TOLD: Record<Status, [tone: string, text: string]> = {
  connecting: ["moving", "connecting"],
  live: ["good", "live"],
  polling: ["warn", "polling"],
  lost: ["bad", "connection lost"],
  closed: ["", "closed"],
};
const REASONS: Record<string, string> = {
  unauthenticated: "You are signed out.",
  forbidden: "This page may not connect.",
  refused: "The server refused this page.",
  unreachable: "The server does not answer.",
  silent: "The connection went silent.",
};
const DROPPED = 0.1;

/** The state of the connection, and two ways of disturbing it. */
export function Connection() {
  const client = useLiveClient();
  const { status, reason, outdated } = useLiveStatus();
  const [drops, setDrops] = useState(client.dropFrames > 0);
  const dropped = useDropped();
  const [tone, text] = TOLD[status];
  const drop = (on: boolean) => {
    client.dropFrames = on ? DROPPED : 0;
    setDrops(on);
  };
  return (
    <section className="card row between" aria-label="Connection">
      <p className="row" role="status">
        <span className={`badge ${tone}`}>{text}</span>
        {status === "lost" && <span className="dim">{REASONS[reason] ?? ""} Trying again; what is shown may be old.</span>}
        {outdated && <span className="dim">The server is newer than this page: load it anew.</span>}
      </p>
      <div className="row">
        <label className="switch">
          <input type="checkbox" checked={drops} onChange={(event) => drop(event.target.checked)} />
          Drop 10 % of frames
          {dropped > 0 && <span className="dim number">({dropped} dropped)</span>}
        </label>
        <button type="button" onClick={() => client.reconnect()}>
          Reconnect
        </button>
      </div>
    </section>
  );
}

function useDropped(): number {
  const client = useLiveClient();
  const [dropped, setDropped] = useState(client.framesDropped);
  useEffect(() => {
    const timer = setInterval(() => setDropped(client.framesDropped), 500);
    return () => clearInterval(timer);
  }, [client]);
  return dropped;
}
