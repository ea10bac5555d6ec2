export { LiveProvider, useLiveClient, useLiveStatus } from "./context";
export {
  type JobEventsOptions,
  type JobSubscription,
  type JobTopicOptions,
  useJobEvents,
  useJobSubscription,
  useJobTopic,
} from "./hooks";
export { type JobProgressOptions, useJobProgress } from "./progress";
