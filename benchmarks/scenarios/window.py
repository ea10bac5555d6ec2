"""The rate at which a backlog is worked off, seen through a window of time after the start-up."""

from __future__ import annotations

import time

from benchmarks.errors import NotMeasured
from benchmarks.processes import cpu_seconds
from benchmarks.session import Session

WARM_PART = 0.01
LEAST_WARM = 10
COUNTED = (
    "jobs whose end is on record in the system's own tables (Celery keeps none: runs in an append-only file), "
    "over a window that begins after the first hundredth of the backlog"
)
CPU_COUNTED = "user and system time of all worker processes in the same window"


def drain(session: Session, kind: str, backlog: int, window: float) -> dict[str, float]:
    """``rate`` in jobs a second and ``cpu`` in seconds per 1,000 jobs.

    The backlog is there before the workers start. Raises NotMeasured when it was gone before the window began, or
    when jobs are on record that did not run.
    """
    session.do("fill", kind=kind, count=backlog)
    session.settle()
    session.start_workers()
    warm = max(LEAST_WARM, int(backlog * WARM_PART))
    session.wait("the first jobs", lambda: session.ran() >= warm, every=0.002)
    began, done, cpu = time.monotonic(), session.done(), cpu_seconds(session.workers)
    ended = session.wait(
        "the end of the window",
        lambda: session.ran() >= backlog or time.monotonic() - began >= window,
        every=0.005,
    )
    if session.ran() >= backlog:
        ended = session.wait("every job's end on record", lambda: session.done() >= backlog)
        cpu_after, after = cpu_seconds(session.workers), backlog
    else:
        cpu_after, after = cpu_seconds(session.workers), session.done()
        ended = time.monotonic()
    if session.ran() < after:
        raise NotMeasured(f"{after} jobs are on record as done, but only {session.ran()} ran")
    jobs = after - done
    if jobs <= 0:
        raise NotMeasured(f"the backlog of {backlog} was gone before the measurement began")
    return {"rate": jobs / (ended - began), "cpu": (cpu_after - cpu) / jobs * 1000}
