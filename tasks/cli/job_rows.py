"""Jobs as rows of a table and as lines of facts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from tasks.cli import arguments, names
from tasks.cli.spans import age, instant, length
from tasks.cli.tables import Column, table
from tasks.cli.terminal import STATE_COLOURS, Terminal
from tasks.models import Job

WIDE = 110  # columns from which the second half of a row is shown


def state_colour(text: str) -> str:
    """The colour of a state's name."""
    return STATE_COLOURS.get(text, "")


def jobs_table(terminal: Terminal, jobs: Sequence[Job], now: datetime) -> list[str]:
    """One line a job; a narrow terminal gets what matters most."""
    columns = [
        Column("ID"),
        Column("STATE", colour=state_colour),
        Column("TYPE", shrinks=True),
        Column("DONE", right=True),
        Column("AGE", right=True),
    ]
    rows: list[list[Any]] = [
        [job.id, job.state, names.shown(job.handler_key), done(job), age(job.created_at, now)] for job in jobs
    ]
    if not terminal.is_tty or terminal.columns >= WIDE:
        columns += [
            Column("QUEUE"),
            Column("PRIORITY"),
            Column("TRY", right=True),
            Column("REASON", shrinks=True),
        ]
        for row, job in zip(rows, jobs, strict=True):
            row += [job.queue, arguments.priority_name(job.priority), job.attempt, job.reason or _error(job)]
    return table(terminal, columns, rows)


def done(job: Job) -> str:
    """Progress in one short cell."""
    if job.progress_done is None:
        return ""
    if job.progress_total:
        return f"{min(100.0, max(0.0, 100 * job.progress_done / job.progress_total)):.0f}%"
    return f"{job.progress_done:,.0f}"


def job_facts(job: Job, now: datetime) -> dict[str, object]:
    """What there is to say of a job, by name; empty values may be left out."""
    run = ""
    if job.started_at is not None:
        run = length(((job.finished_at or now) - job.started_at).total_seconds())
    return {
        "id": job.id,
        "type": names.shown(job.handler_key),
        "state": job.state,
        "reason": job.reason,
        "cause": job.cause,
        "queue": job.queue,
        "priority": arguments.priority_name(job.priority),
        "attempt": f"{job.attempt} of {job.max_attempts}" if job.attempt else "",
        "lease": job.lease or "",
        "lost": f"{job.crashes + job.losses} times in a row" if job.crashes + job.losses else "",
        "cancel": f"asked for: {job.cancel_reason}" if job.cancel_reason else "",
        "user": job.user_id,
        "tenant": job.tenant_id,
        "parent": job.parent_id,
        "alias of": f"{job.leader_id} ({job.leader.state})" if job.leader is not None else "",
        "dedupe key": job.dedupe_key,
        "concurrency": f"{job.concurrency_key} (at most {job.concurrency_limit})"
        if job.concurrency_key
        else "",
        "schedule": job.schedule_id,
        "planned at": instant(job.planned_at),
        "created": f"{instant(job.created_at)} ({age(job.created_at, now)} ago)",
        "run after": instant(job.run_after),
        "due": instant(job.due_at) if job.state == "pending" and job.due_at > now else "",
        "started": instant(job.started_at),
        "finished": instant(job.finished_at),
        "ran": run,
    }


def _error(job: Job) -> str:
    """Its error, or the start of it where a list has read no more."""
    start: str | None = getattr(job, "error_start", None)
    return job.error if start is None else start
