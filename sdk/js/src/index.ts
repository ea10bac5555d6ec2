export { backoff } from "./backoff";
export { LiveClient } from "./client";
export type { LiveOptions } from "./options";
export { type Burst, bursts, type JobTally, type ProgressOptions, tallies } from "./progress";
export type { LostReason, Status, StatusEvent } from "./status";
export { isEnded, type TopicState } from "./store";
export { sessionTicket, type TicketOptions } from "./ticket";
export type { TopicError, TopicListener } from "./topic";
export * from "./wire";
