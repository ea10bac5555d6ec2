import type { JobOutput } from "@jobsplatform/live";
import type { Facts } from "./facts";
import { type FolderProgress, useSyncProgress } from "./useSyncProgress";

const TONES: Record<string, string> = { completed: "good", failed: "bad", cancelled: "warn", running: "moving", waiting: "moving" };

/** One scan: all of it, and each folder. */
export function Scan({ id, facts }: { id: string; facts: Facts }) {
  const { scan, isSyncing, pct, folders, finished } = useSyncProgress(id);
  if (!scan) return <section className="card dim">Waiting for news of scan {id} …</section>;
  return (
    <section className="card stack" aria-label="Scan">
      <div className="row between">
        <h2 className="name">{String(scan.params.root ?? "A scan")}</h2>
        <span className={`badge ${TONES[scan.status] ?? ""}`}>{isSyncing && scan.status === "waiting" ? "scanning" : scan.status}</span>
      </div>
      <progress max={100} value={pct} aria-label="The whole scan" />
      <p className="row between dim">
        <span className="number">
          {pct} % of {folders.length} {folders.length === 1 ? "folder" : "folders"}
        </span>
        {isSyncing && finished && <span className="name">finished: {finished}</span>}
        <Outcome scan={scan} />
        {facts.job && <a href={facts.job.replace(facts.place, id)}>Job</a>}
      </p>
      {scan.error && <p className="error">{scan.error.message}</p>}
      <ul className="folders">
        {folders.map((folder) => (
          <Folder key={folder.name} folder={folder} />
        ))}
      </ul>
    </section>
  );
}

function Folder({ folder }: { folder: FolderProgress }) {
  const ended = folder.completed + folder.failed + folder.cancelled;
  return (
    <li data-folder={folder.name} data-active={folder.isActive}>
      <span className="name">{folder.name}</span>
      <span className="number dim">
        {ended} of {folder.total}
        {folder.running > 0 && `, ${folder.running} running`}
        {folder.failed > 0 && `, ${folder.failed} failed`}
      </span>
      <progress max={100} value={folder.pct} aria-label={folder.name} />
    </li>
  );
}

function Outcome({ scan }: { scan: JobOutput }) {
  const result = scan.result as { files?: number; bytes?: number } | null;
  if (typeof result?.files !== "number") return null;
  return (
    <span className="number">
      {result.files.toLocaleString("en")} files, {((result.bytes ?? 0) / 1e6).toFixed(1)} MB
    </span>
  );
}
