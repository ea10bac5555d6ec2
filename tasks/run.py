"""One run of one job, in the process that does the work: start, execute, finish.

The lease decides everything: a message whose lease no longer holds starts nothing, and an ending under it
writes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection

from jobsplatform.kernel import clock, config, context, events
from jobsplatform.kernel.loop import wait_until
from tasks import (
    executor,
    family,
    finding,
    finish,
    finish_many,
    followers,
    latest_start,
    pace,
    reporter,
    transitions,
)
from tasks.context import ChildResult, JobContext, RunPort
from tasks.events import JobMoved, LeaseRejected, RunStarted
from tasks.lazy_port import LazyPort
from tasks.models import Job
from tasks.outcomes import Ending
from tasks.spec import JobHandler
from tasks.sql.writes import Next
from tasks.states import Priority, State

logger = logging.getLogger("jobsplatform.run")

T = TypeVar("T")
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
    ending = _perform(begun, make_port or port_factory(can_kill), at_once=make_port is not None)
    end(begun[0], ending)
    pace.write_noted()
    return ending


def run_in_turn(runs: Sequence[tuple[UUID, int]], worker_id: UUID, *, can_kill: bool) -> int:
    """``run`` for several jobs (id, lease), one after the other; how many ran.

    Each is started when it begins and ended when it has ended; the end of one and the start of the next are written
    together.
    """
    make_port = port_factory(can_kill)
    count, begun = 0, begin(*runs[0], worker_id)
    for following in (*runs[1:], None):
        if begun is not None:
            count += 1
            begun = _end_and_begin(begun[0], _perform(begun, make_port), following, worker_id)
        elif following is not None:
            begun = begin(*following, worker_id)
    pace.write_noted()
    return count


def _end_and_begin(
    job: Job, ending: Ending, following: tuple[UUID, int] | None, worker_id: UUID
) -> tuple[Job, JobHandler] | None:
    if following is None or not finish_many.is_plain(job, ending):
        end(job, ending)
        return None if following is None else begin(*following, worker_id)
    done = finish_many.Done(job, ending, clock.now())
    try:
        written, started = finish_many.complete_and_start(done, Next(*following, worker_id), clock.now())
    except (OperationalError, InterfaceError):
        # Nobody can tell whether the next one has been started. Whoever gave us these runs hears that this failed, and
        # gives back those that have not ended.
        if not connection.in_atomic_block:
            connection.close()
        end(job, ending)
        raise
    if not written:
        persist(lambda: finish.finish(job.id, job.lease, ending, clock.now()), f"the end of job {job.id}")
    return None if started is None else _begun(started)


def _perform(begun: tuple[Job, JobHandler], make_port: PortFactory, *, at_once: bool = False) -> Ending:
    job, handler = begun
    port = LazyPort(lambda: make_port(job, handler))
    if at_once:
        port.open()
    ending = perform(job, handler, port)
    job.spawned |= port.spawned
    return ending


def port_factory(can_kill: bool) -> PortFactory:
    """The ports of a pool of processes, or of one of threads."""
    return reporter.thread_port if can_kill else reporter.watching_thread_port


def perform(job: Job, handler: JobHandler, port: RunPort) -> Ending:
    """Call the handler of a started run, in the context of its job. Writes nothing but what the handler asks for."""
    began = clock.monotonic()
    unwritten = None
    try:
        with context.use(_context(job)):
            ending = executor.execute(handler, _job_context(job, port), continuing=job.continuing)
    finally:
        unwritten = port.close()
    pace.note(job.handler_key, clock.monotonic() - began)
    return ending if unwritten is None else replace(ending, progress=unwritten)


def end(job: Job, ending: Ending) -> None:
    """Write the end of a run."""
    if ending.kind == "stale":
        events.deliver(LeaseRejected(job.id, job.lease, "run"))
        return
    what = f"the end of job {job.id}"
    if finish_many.is_plain(job, ending):
        done = finish_many.Done(job, ending, clock.now())
        if not persist(lambda: finish_many.complete_many([done]), what):
            return
    persist(lambda: finish.finish(job.id, job.lease, ending, clock.now()), what)


def begin(job_id: UUID, lease: int, worker_id: UUID | None = None) -> tuple[Job, JobHandler] | None:
    """Start the run: the job is running under this lease, or None and nothing has changed."""
    now = clock.now()
    job = transitions.start(job_id, lease, now, worker_id=worker_id)
    if job is None:
        if latest_start.end([job_id], now):
            logger.info("job %s waited past its latest start: cancelled", job_id)
            return None
        logger.debug(
            "no job waits to be started by the message for %s, lease %s; nothing done", job_id, lease
        )
        return None
    return _begun(job)


def _begun(job: Job) -> tuple[Job, JobHandler] | None:
    """What goes with the start of a run; None when its handler is not known here after all."""
    assert job.started_at is not None
    handler = finding.find(job.app_id, job.job_type)
    if handler is None:
        transitions.interrupt(job.id, job.lease, job.started_at, reason="handler unknown here")
        return None
    if handler.spec.timeout is not None:
        limit = job.started_at + timedelta(seconds=handler.spec.timeout)
        transitions.limit_run(job.id, job.lease, limit)
    tell_start(job)
    if job.priority >= Priority.USER_ACTION:
        followers.free_preempted(job.id, job.started_at)
    return job, handler


def tell_start(job: Job) -> None:
    """Tell that a run has begun."""
    tell_starts([job])


def tell_starts(jobs: Sequence[Job]) -> None:
    """Tell that these runs have begun."""
    told: list[object] = []
    for job in jobs:
        assert job.started_at is not None
        waited = max(0.0, (job.started_at - job.due_at).total_seconds() * 1000)
        told += (
            JobMoved(
                job.id, job.handler_key, "start", State.RUNNING, job.lease, job.queue,
                worker_id=job.worker_id, parent_id=job.parent_id,
            ),
            RunStarted(job.id, job.app_id, job.job_type, job.lease, job.attempt, job.priority, waited),
        )  # fmt: skip
    events.emit_all(told)


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
        for c in (_children(job) if job.continuing else [])
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


def _children(job: Job) -> list[dict[str, Any]]:
    # The run has begun: a database that is away for a moment must not end it.
    return persist(lambda: family.results(job.id), f"the read of the children of job {job.id}")


def persist(write: Callable[[], T], what: str) -> T:
    """What was done, and what has begun, must not be lost because the database is away for a moment: try until it is
    back, or until the worker gives up; the lease keeps a late writer harmless."""
    answers: list[T] = []

    def written() -> bool:
        try:
            answers.append(write())
        except (OperationalError, InterfaceError) as error:
            logger.warning("%s cannot be done yet (%s); trying again", what, str(error).strip())
            if not connection.in_atomic_block:
                connection.close()
            return False
        return True

    if not written():
        wait_until(written, timeout=config.get().tasks.cutoff_exit_seconds, every=1.0)
    return answers[0]
