export { backoff } from "./backoff.js";
export { LiveClient } from "./client.js";
export type { LiveOptions } from "./options.js";
export { type Burst, bursts, type JobTally, type ProgressOptions, tallies } from "./progress.js";
export type { LostReason, Status, StatusEvent } from "./status.js";
export { isEnded, type TopicState } from "./store.js";
export { sessionTicket, type TicketOptions } from "./ticket.js";
export type { TopicError, TopicListener } from "./topic.js";
export * from "./wire.js";
