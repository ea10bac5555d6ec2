"""Following jobs to their end, with a progress bar."""

from __future__ import annotations

import threading
from uuid import UUID

from jobsplatform.kernel import clock
from tasks import queries, why
from tasks.cli import names
from tasks.cli.broker_note import broker_note
from tasks.cli.progress_bar import ProgressBar, Reading
from tasks.cli.terminal import Terminal
from tasks.models import Job
from tasks.output import job_output
from tasks.states import FINAL, State

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 1.0
WHY_AFTER_SECONDS = 3.0
_NOT_STARTED = frozenset({State.PENDING, State.DISPATCHED, State.PAUSED})


def pause(seconds: float) -> None:
    """Wait; Ctrl-C ends it at once."""
    threading.Event().wait(seconds)


def follow(terminal: Terminal, job_id: UUID, *, timeout: float | None = None) -> Job | None:
    """Show a job's progress until it has ended; None when ``timeout`` seconds have passed before.

    After 3 s without a start it says why nothing runs, and goes on waiting.
    """
    started = clock.monotonic()
    job = queries.get_job(job_id)
    bar = ProgressBar(terminal, names.shown(job.handler_key))
    said = ""
    step = FIRST_PAUSE
    try:
        while job.state not in FINAL:
            elapsed = clock.monotonic() - started
            if timeout is not None and elapsed >= timeout:
                return None
            if job.state in _NOT_STARTED and elapsed >= WHY_AFTER_SECONDS:
                said = _say_why(bar, job, said)
            bar.show(reading(job), elapsed)
            pause(step if timeout is None else min(step, max(0.01, timeout - elapsed)))
            step = min(LONGEST_PAUSE, step * 1.3)
            job = queries.get_job(job_id)
    finally:
        bar.clear()
    return job


def _say_why(bar: ProgressBar, job: Job, said: str) -> str:
    clock.current().sync()
    sentence = broker_note() or why.why_not_running(job, clock.now())
    if sentence and sentence != said:
        bar.note(f"Not running: {sentence}")
    return sentence or said


def reading(job: Job) -> Reading:
    """How far a job is: by its children while it waits for them, else by what it told."""
    shown = job_output(job, payload=False)
    if job.state == State.WAITING:
        children = queries.children_summary(job.id)
        if children["total"]:
            return Reading(job.state, children["done"], children["total"], "children")
    progress = shown["progress"] or {}
    return Reading(
        shown["status"],
        progress.get("done"),
        progress.get("total"),
        progress.get("label") or "",
        progress.get("eta_seconds"),
    )
