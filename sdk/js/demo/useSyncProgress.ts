import type { JobOutput, JobTally } from "@jobsplatform/live";
import { useJobProgress, useJobSubscription } from "@jobsplatform/live/react";
import { useCallback, useState } from "react";

/** One folder at the top of the scanned tree, with all that is below it. */
export interface FolderProgress extends JobTally {
  name: string;
}

export interface SyncProgress {
  scan: JobOutput | null;
  isSyncing: boolean;
  /** Of all folders together, 0 to 100. */
  pct: number;
  folders: FolderProgress[];
  /** The folder that was finished last. */
  finished: string;
}

/**
 * How far a folder's sync is. This is the layer that knows what jobs mean: which types a sync is made of, that a
 * child of a scan stands for folders, and what a page wants to read of it. The hooks below it know none of that.
 */
export function useSyncProgress(scanId: string | null): SyncProgress {
  const [finished, setFinished] = useState("");
  const { job: scan } = useJobSubscription(scanId);
  const resolveEntityId = useCallback(
    (job: JobOutput) => (scanId !== null && job.parent_id === scanId ? topFolder(job) : null),
    [scanId],
  );
  const tallies = useJobProgress({ jobTypes: ["files.scan_folder"], resolveEntityId, onSettled: setFinished });
  const folders = Object.entries(tallies).map(([name, tally]) => ({ name, ...tally }));
  folders.sort((one, other) => one.name.localeCompare(other.name));
  const total = folders.reduce((sum, folder) => sum + folder.total, 0);
  const share = folders.reduce((sum, folder) => sum + folder.pct * folder.total, 0);
  const isSyncing = scan !== null && !["completed", "failed", "cancelled"].includes(scan.status);
  const pct = scan?.status === "completed" ? 100 : total ? Math.round((10 * share) / total) / 10 : 0;
  return { scan, isSyncing, pct, folders, finished };
}

/** The folder at the top that a part of a scan belongs to; whoever may not see params sees one for all. */
function topFolder(job: JobOutput): string {
  const folders = job.params.folders;
  const first: unknown = Array.isArray(folders) ? folders[0] : undefined;
  if (typeof first !== "string") return "all folders";
  return first.split("/").find(Boolean) ?? "files at the top";
}
