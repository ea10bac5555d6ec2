import { useJobEvents, useJobTopic } from "@jobsplatform/live/react";
import { useState } from "react";

const KEPT = 8;

/** What is heard of scans, from whoever started them. */
export function Activity({ onPick }: { onPick: (id: string) => void }) {
  const [lines, setLines] = useState<Array<{ key: number; text: string }>>([]);
  const [updates, setUpdates] = useState(0);
  const add = (text: string) =>
    setLines((before) => [{ key: (before[0]?.key ?? 0) + 1, text }, ...before].slice(0, KEPT));
  const running = useJobTopic("files.scan", {
    onStarted: (event) => add(`${time()} scan …${event.job_id.slice(-6)} started`),
    onEnded: (event) => add(`${time()} scan …${event.job_id.slice(-6)} ${event.success ? "completed" : `ended: ${event.reason}`}`),
  });
  useJobEvents({
    jobTypes: ["files.scan", "files.scan_folder"],
    onEvent: (event) => event.name === "job_update" && setUpdates((count) => count + 1),
  });
  return (
    <section className="card stack" aria-label="Activity">
      <div className="row between">
        <h2>Activity</h2>
        <span className="dim number">{updates} updates heard</span>
      </div>
      {running.length > 0 && (
        <p className="row">
          {running.map((run) => (
            <button type="button" key={run.job_id} onClick={() => onPick(run.job_id)}>
              Watch …{run.job_id.slice(-6)}
            </button>
          ))}
        </p>
      )}
      {lines.length === 0 && <p className="dim">Nothing yet: start a scan, here or in another window.</p>}
      <ul className="log">
        {lines.map((line) => (
          <li key={line.key}>{line.text}</li>
        ))}
      </ul>
    </section>
  );
}

function time(): string {
  return new Date().toLocaleTimeString("en-GB");
}
