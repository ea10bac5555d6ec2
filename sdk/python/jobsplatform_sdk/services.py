"""The services of the bus with their methods, for both clients."""

from __future__ import annotations

from jobsplatform_sdk.calls import events, jobs, running, task_queue
from jobsplatform_sdk.methods import AsyncService, Method, Service


class JobMethods:
    """Create, follow and steer jobs; register handlers; and what a sidecar does, under a lease."""

    create = Method(jobs.create)
    create_many = Method(jobs.create_many)
    get = Method(jobs.get)
    query = Method(jobs.query)
    cancel = Method(jobs.cancel)
    cancel_by_filter = Method(jobs.cancel_by_filter)
    cleanup = Method(jobs.cleanup)
    progress_summary = Method(jobs.progress_summary)
    preempt = Method(jobs.preempt)
    register_handler = Method(jobs.register_handler)
    unregister_handler = Method(jobs.unregister_handler)
    claim = Method(running.claim)
    heartbeat = Method(running.heartbeat)
    update_status = Method(running.update_status)
    update_progress = Method(running.update_progress)
    checkpoint = Method(running.checkpoint)
    merge_data = Method(running.merge_data)
    batch_children = Method(running.batch_children)


class EventMethods:
    """Tell something to one user's pages."""

    emit = Method(events.emit)


class TaskQueueMethods:
    """Show work that the platform does not run."""

    upsert_job = Method(task_queue.upsert_job)
    update_progress = Method(task_queue.update_progress)
    complete_job = Method(task_queue.complete_job)


class Jobs(JobMethods, Service):
    """``client.jobs``."""


class Events(EventMethods, Service):
    """``client.events``."""


class TaskQueue(TaskQueueMethods, Service):
    """``client.task_queue``."""


class AsyncJobs(JobMethods, AsyncService):
    """``client.jobs`` of an async client."""


class AsyncEvents(EventMethods, AsyncService):
    """``client.events`` of an async client."""


class AsyncTaskQueue(TaskQueueMethods, AsyncService):
    """``client.task_queue`` of an async client."""
