export { LiveProvider, useLiveClient, useLiveStatus } from "./context.js";
export {
  type JobEventsOptions,
  type JobSubscription,
  type JobTopicOptions,
  useJobEvents,
  useJobSubscription,
  useJobTopic,
} from "./hooks.js";
export { type JobProgressOptions, useJobProgress } from "./progress.js";
