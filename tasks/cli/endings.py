"""What is said when a followed job has ended, was not waited for, or goes on alone."""

from __future__ import annotations

from uuid import UUID

from tasks import queries
from tasks.cli import names
from tasks.cli.exits import DONE, INTERRUPTED, JOB_FAILED, TIMED_OUT, one_line
from tasks.cli.results import result_lines
from tasks.cli.spans import length
from tasks.cli.terminal import STATE_COLOURS, Terminal
from tasks.cli.text import plain
from tasks.models import Job
from tasks.outcomes import Fail
from tasks.states import State


def exit_code(job: Job) -> int:
    """0 for a completed job, 1 for a failed or cancelled one."""
    return DONE if job.state == State.COMPLETED else JOB_FAILED


def summary(terminal: Terminal, job: Job) -> list[str]:
    """How it ended, and its result; an alias has those of its leader."""
    shown = queries.shown_job(job)
    return [headline(terminal, shown), *result_lines(terminal, shown.result)]


def headline(terminal: Terminal, job: Job) -> str:
    """``files.scan completed in 4m30s``, or what went wrong."""
    began = job.first_started_at or job.started_at
    took = f" in {length((job.finished_at - began).total_seconds())}" if began and job.finished_at else ""
    state = terminal.paint(job.state, STATE_COLOURS.get(job.state, ""))
    cause = f" ({job.cause})" if job.cause and job.cause != job.state else ""
    why = _error(job) or plain(job.reason) if job.state != State.COMPLETED else ""
    return f"{plain(names.shown(job.handler_key))} {state}{took}{cause}" + (f": {why}" if why else "")


def _error(job: Job) -> str:
    """The error with its type; a handler that says why it fails needs no type."""
    text = plain(one_line(job.error))
    return text if not job.error_type or job.error_type == Fail.__name__ else f"{job.error_type}: {text}"


def interrupted(terminal: Terminal, program: str, job_ids: list[UUID]) -> int:
    """Ctrl-C ended the waiting, not the jobs."""
    ids = " ".join(map(str, job_ids))
    terminal.line("The job goes on." if len(job_ids) == 1 else "The jobs go on.")
    terminal.line(f"  Follow:  {program} jobs wait {ids}")
    terminal.line(f"  Cancel:  {program} jobs cancel {ids}")
    return INTERRUPTED


def not_in_time(terminal: Terminal, program: str, job: Job, timeout: float) -> int:
    """The waiting is over before the job is."""
    terminal.line(f"Not ended within {length(timeout)}: the job is {job.state} and goes on.")
    terminal.line(f"  Follow:  {program} jobs wait {job.id}")
    return TIMED_OUT
