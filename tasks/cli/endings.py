"""What is said when a followed job has ended, was not waited for, or goes on alone."""

from __future__ import annotations

from uuid import UUID

from tasks.cli import names
from tasks.cli.exits import DONE, INTERRUPTED, JOB_FAILED, TIMED_OUT, one_line
from tasks.cli.results import result_lines
from tasks.cli.spans import length
from tasks.cli.terminal import STATE_COLOURS, Terminal
from tasks.cli.text import plain
from tasks.models import Job
from tasks.states import State


def exit_code(job: Job) -> int:
    """0 for a completed job, 1 for a failed or cancelled one."""
    return DONE if job.state == State.COMPLETED else JOB_FAILED


def summary(terminal: Terminal, job: Job) -> list[str]:
    """How it ended, and its result."""
    return [headline(terminal, job), *result_lines(terminal, job.result)]


def headline(terminal: Terminal, job: Job) -> str:
    """``files.scan completed in 4m30s``, or what went wrong."""
    began = job.first_started_at or job.started_at
    took = f" in {length((job.finished_at - began).total_seconds())}" if began and job.finished_at else ""
    state = terminal.paint(job.state, STATE_COLOURS.get(job.state, ""))
    details = [part for part in (job.cause, _error(job), job.reason) if part and part != job.state]
    unlike = list(dict.fromkeys(details)) if job.state != State.COMPLETED else []
    return f"{plain(names.shown(job.handler_key))} {state}{took}" + (
        f": {' - '.join(unlike)}" if unlike else ""
    )


def _error(job: Job) -> str:
    text = plain(one_line(job.error))
    return f"{job.error_type}: {text}" if job.error_type and not text.startswith(job.error_type) else text


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
