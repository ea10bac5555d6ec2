"""Each accepted job has one end, and the right one."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.agree.facts import Facts, name
from chaos.ledger import Run
from tasks.models import Job
from tasks.states import FINAL, Cause, State

FINAL_MOVES = ("complete", "fail", "crash", "stop")
"""Moves that end a running job for good."""

CLOCK_SECONDS = 0.5
"""How far a process may be off the database's clock on a machine that is busy."""

LATE_SECONDS = 300.0
"""No outage here is so long; a clock that is ten minutes wrong is longer."""


def all_accepted(facts: Facts) -> Iterator[str]:
    """Nothing that was accepted is lost."""
    for job_id in facts.accepted.jobs - facts.rows.keys():
        yield f"accepted job {job_id} has no row"


def right_end(facts: Facts) -> Iterator[str]:
    """Completed by a run that ended, failed for a reason, cancelled because somebody asked."""
    for job in facts.rows.values():
        if job.state not in FINAL:
            yield f"{name(job)} has not ended: it is {job.state} ({job.hold or job.reason or 'no reason'})"
        elif job.state == State.COMPLETED:
            yield from _rightly_completed(facts, job)
            if job.id in facts.accepted.cancelled:
                yield f"{name(job)} is completed although its cancel was accepted"
        elif job.state == State.FAILED:
            yield from _rightly_failed(facts, job, facts.of(job))
        elif job.id not in facts.accepted.cancelled:
            yield f"{name(job)} is cancelled ({job.reason}), and nobody asked for that"


def _rightly_completed(facts: Facts, job: Job) -> Iterator[str]:
    lines = [line for run in facts.of(job) if run.lease == job.lease for line in run.lines]
    ends = [line.at for line in lines if line.what == "end"]
    if not ends:
        yield f"{name(job)} is completed under lease {job.lease}, but that run did not end in the file"
        return
    assert job.finished_at is not None
    late = job.finished_at.timestamp() - facts.offset - ends[0]
    if late < -CLOCK_SECONDS:
        yield f"{name(job)} was completed {-late:.2f} s before its work was done"
    elif late > LATE_SECONDS:
        yield f"{name(job)} was completed {late:.0f} s after its work was done, by the time in its row"


def _rightly_failed(facts: Facts, job: Job, runs: list[Run]) -> Iterator[str]:
    if job.cause == Cause.CRASHED:
        broke_off = sum(run.unfinished for run in runs)
        if broke_off < facts.crash_budget:
            yield f"{name(job)} failed as crashed after {broke_off} broken runs"
    elif job.params.get("fails", 0) < job.max_attempts:
        yield f"{name(job)} failed: {job.cause} {job.error[:80]}"
    elif sum(line.what == "fail" for run in runs for line in run.lines) < job.max_attempts:
        yield f"{name(job)} failed before it had used its {job.max_attempts} attempts"


def one_end(facts: Facts) -> Iterator[str]:
    """One that did not run when it ended (cancelled, released by its children) has no run to end it."""
    for job in facts.rows.values():
        known = [
            (one.outcome, one.lease) for one in facts.records.get(job.id, ()) if one.outcome in FINAL_MOVES
        ]
        if len(known) > 1:
            yield f"{name(job)} ended {len(known)} times: {known}"
        if job.state == State.COMPLETED and known != [("complete", job.lease)]:
            yield f"{name(job)} is completed under lease {job.lease}; its record says {known}"
