import { LiveClient } from "@jobsplatform/live";
import { LiveProvider } from "@jobsplatform/live/react";
import { type FormEvent, StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import { Activity } from "./Activity";
import { Connection } from "./Connection";
import { type Facts, readFacts, startScan } from "./facts";
import { Scan } from "./Scan";

function Demo({ facts }: { facts: Facts }) {
  // In the address, so that a second window can watch the same scan.
  const [scanId, setScanId] = useState(() => location.hash.slice(1) || null);
  const watch = (id: string) => {
    history.replaceState(null, "", `#${id}`);
    setScanId(id);
  };
  return (
    <>
      <Connection />
      {facts.mayStart && <Start facts={facts} onStarted={watch} />}
      {scanId && <Scan key={scanId} id={scanId} facts={facts} />}
      <Activity onPick={watch} />
    </>
  );
}

function Start({ facts, onStarted }: { facts: Facts; onStarted: (id: string) => void }) {
  const [root, setRoot] = useState(facts.root);
  const [fault, setFault] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setFault("");
    try {
      onStarted(await startScan(facts, root));
    } catch (error) {
      setFault((error as Error).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className="card stack" onSubmit={submit}>
      <label>
        A folder on the workers' machine
        <input type="text" value={root} onChange={(event) => setRoot(event.target.value)} spellCheck={false} />
      </label>
      <div className="row">
        <button type="submit" className="main" disabled={busy}>
          Start a scan
        </button>
        {fault && (
          <p className="error grow" role="alert">
            {fault}
          </p>
        )}
      </div>
    </form>
  );
}

createRoot(document.getElementById("demo")!).render(
  <StrictMode>
    <LiveProvider client={new LiveClient()}>
      <Demo facts={readFacts()} />
    </LiveProvider>
  </StrictMode>,
);
