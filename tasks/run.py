"""One run of one job, in the process that does the work: start, execute, finish.

The lease decides everything: a message whose lease no longer holds starts nothing, and an ending under it
writes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection, transaction

from jobsplatform.kernel import clock, config, context, events
from jobsplatform.kernel.loop import wait_until
from tasks import executor, family, finish, followers, registry, reporter, transitions
from tasks.context import ChildResult, JobContext, RunPort
from tasks.events import JobMoved, LeaseRejected, RunStarted
from tasks.models import Job
from tasks.outcomes import Ending
from tasks.spec import JobHandler
from tasks.states import Priority, State

logger = logging.getLogger("jobsplatform.run")

PortFactory = Callable[[Job, JobHandler], RunPort]


def run(
    job_id: UUID,
    lease: int,
    *,
    worker_id: UUID | None = None,
    can_kill: bool = False,
    make_port: PortFactory | None = None,
) -> Ending | None:
    """Do the job if this lease still holds it. None: it does not; nothing ran (a second delivery, a cancelled
    job, a forged message).

    ``worker_id``: the incarnation that was sent it. ``can_kill``: the pool enforces time limits by signals.
    """
    begun = begin(job_id, lease, worker_id)
    if begun is None:
        return None
    job, handler = begun
    if make_port is None:
        make_port = reporter.thread_port if can_kill else reporter.watching_thread_port
    port = make_port(job, handler)
    ending = None
    try:
        with context.use(_context(job)):
            ending = executor.execute(handler, _job_context(job, port), continuing=job.continuing)
    finally:
        unwritten = port.close()
    if ending.kind == "stale":
        events.deliver(LeaseRejected(job_id, lease, "run"))
        return ending
    if unwritten is not None:
        ending = _with_progress(ending, unwritten)
    _finish(job_id, lease, ending)
    return ending


def begin(job_id: UUID, lease: int, worker_id: UUID | None = None) -> tuple[Job, JobHandler] | None:
    """Start the run: the job is running under this lease, or None and nothing has changed."""
    now = clock.now()
    job = Job.objects.filter(id=job_id, state=State.DISPATCHED, lease=lease).first()
    if job is None or (worker_id is not None and job.worker_id != worker_id):
        logger.info(
            "message for job %s, lease %s: no such job waits to be started; nothing done", job_id, lease
        )
        return None
    handler = registry.find(job.app_id, job.job_type)
    if handler is None:
        transitions.hand_back(job_id, lease, "handler unknown here", now)
        return None
    limit, resumes = handler.spec.timeout, job.checkpoint is not None or job.continuing
    with transaction.atomic():
        if not transitions.start(
            job_id, lease, timedelta(seconds=limit) if limit else None, now, resumes=resumes
        ):
            return None
        if job.first_started_at is None:
            transitions.note_first_start(job_id, now)
        _tell_start(job, now)
    if job.priority >= Priority.USER_ACTION:
        followers.free_preempted(job_id, now)
    job.state, job.started_at, job.attempt = State.RUNNING, now, job.failures + 1
    job.first_started_at = job.first_started_at or now
    return job, handler


def _tell_start(job: Job, now: object) -> None:
    waited = (clock.now() - job.due_at).total_seconds() * 1000
    events.emit(
        JobMoved(
            job.id,
            job.handler_key,
            "start",
            State.RUNNING,
            job.lease,
            job.queue,
            "",
            "",
            job.worker_id,
            job.parent_id,
        )
    )
    events.emit(
        RunStarted(
            job.id, job.app_id, job.job_type, job.lease, job.failures + 1, job.priority, max(0.0, waited)
        )
    )


def _context(job: Job) -> context.Context:
    return context.Context(
        request_id=job.request_id,
        traceparent=job.traceparent,
        tenant_id=job.tenant_id,
        user_id=job.user_id,
        method="JOB",
        route=f"job:{job.job_type}",
    )


def _job_context(job: Job, port: RunPort) -> JobContext:
    children = [
        ChildResult(c["child_key"], c["id"], State(c["state"]), c["result"], c["error"], c["data"])
        for c in (family.results(job.id) if job.continuing else [])
    ]
    assert job.first_started_at is not None
    return JobContext(
        id=job.id,
        app_id=job.app_id,
        job_type=job.job_type,
        params=job.params,
        data=job.data,
        attempt=job.attempt,
        lease=job.lease,
        started_at=job.first_started_at,
        port=port,
        user_id=job.user_id,
        tenant_id=job.tenant_id,
        planned_at=job.planned_at,
        window_start=job.window_start,
        origin=job.origin,
        run_reason="retry" if job.failures else job.origin,
        force=job.force,
        cursor=job.checkpoint,
        children=children,
    )


def _with_progress(ending: Ending, progress: tuple[float | None, float | None, str]) -> Ending:
    fields = {name: getattr(ending, name) for name in ending.__slots__} | {"progress": progress}
    return Ending(**fields)


def _finish(job_id: UUID, lease: int, ending: Ending) -> None:
    """Write the end. What was done must not be lost because the database is away for a moment: try until it is
    back, or until the worker gives up; the lease keeps a late writer harmless."""

    def written() -> bool:
        try:
            finish.finish(job_id, lease, ending, clock.now())
        except (OperationalError, InterfaceError) as error:
            logger.warning(
                "the end of job %s cannot be written yet (%s); trying again", job_id, str(error).strip()
            )
            if not connection.in_atomic_block:
                connection.close()
            return False
        return True

    if not written():
        wait_until(written, timeout=config.get().tasks.cutoff_exit_seconds, every=1.0)
