/** For a real browser: uses each hook in strict mode and puts what it hears on `window.heard`. */
import { type JobOutput, type JobTally, LiveClient } from "@jobsplatform/live";
import {
  LiveProvider,
  useJobEvents,
  useJobProgress,
  useJobSubscription,
  useJobTopic,
  useLiveStatus,
} from "@jobsplatform/live/react";
import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

const heard = {
  status: "",
  job: null as JobOutput | null,
  progress: {} as Record<string, JobTally>,
  settled: [] as string[],
  started: [] as string[],
  ended: [] as string[],
  events: [] as string[],
  sent: [] as string[],
  left: [] as string[],
};

/** Notes what goes out on the wire. */
class NotingSocket extends WebSocket {
  override send(text: string): void {
    const frame = JSON.parse(text) as { type: string; topic?: string; sub?: string };
    if (frame.type === "subscribe") heard.sent.push(frame.topic!);
    if (frame.type === "unsubscribe") heard.left.push(frame.sub!);
    super.send(text);
  }
}

const topFolder = (job: JobOutput) => (job.params.folders as string[] | undefined)?.[0]?.split("/")[0] ?? null;

function Probe() {
  const [id, setId] = useState<string | null>(null);
  const { status } = useLiveStatus();
  const { job } = useJobSubscription(id);
  const progress = useJobProgress({
    jobTypes: ["files.scan_folder"],
    resolveEntityId: topFolder,
    onSettled: (entity) => heard.settled.push(entity),
  });
  useJobTopic("files.scan", {
    onStarted: (event) => heard.started.push(event.job_id),
    onEnded: (event) => heard.ended.push(event.job_id),
  });
  useJobEvents({
    jobTypes: ["files.scan", "files.scan_folder"],
    onEvent: (event) => event.name === "job_update" && heard.events.push(`${event.job.id}@${event.revision}`),
  });
  useEffect(() => {
    Object.assign(heard, { status, job, progress });
  });
  Object.assign(window, { watch: setId });
  return null;
}

const root = createRoot(document.body.appendChild(document.createElement("div")));
Object.assign(window, { heard, leave: () => root.unmount() });
root.render(
  <StrictMode>
    <LiveProvider client={new LiveClient({ WebSocket: NotingSocket })}>
      <Probe />
    </LiveProvider>
  </StrictMode>,
);
