import { LiveClient, type StatusEvent } from "@jobsplatform/live";
import { createContext, createElement, type ReactNode, useContext, useEffect, useState } from "react";

const Context = createContext<LiveClient | null>(null);
let shared: LiveClient | null = null;

/** The client of all hooks below. Without one they share a client of this page's own host. */
export function LiveProvider(props: { client: LiveClient; children?: ReactNode }) {
  return createElement(Context.Provider, { value: props.client }, props.children);
}

/** The client that the hooks use here. */
export function useLiveClient(): LiveClient {
  const given = useContext(Context);
  if (given) return given;
  shared ??= new LiveClient();
  return shared;
}

/** How the connection is: `live`, `polling`, `lost` … */
export function useLiveStatus(): StatusEvent {
  const client = useLiveClient();
  const [status, setStatus] = useState(client.statusEvent);
  useEffect(() => client.onStatus(setStatus), [client]);
  return status;
}
