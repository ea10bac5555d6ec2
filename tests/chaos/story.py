"""A small world by hand: jobs as their rows say, and the file as the handlers would have written it."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import UUID

from chaos import agree
from chaos.agree.facts import Facts, Record
from chaos.flow import Accepted, Cancel
from chaos.ledger import Line, Run
from chaos.scale import Scale
from tasks.models import Job
from tasks.states import State

_numbers = count(1)


class Story:
    """Rows and file of some jobs; ``told`` says what does not hold. Instants are seconds from the beginning."""

    def __init__(self) -> None:
        self.accepted = Accepted("story")
        self.rows: dict[UUID, Job] = {}
        self.records: dict[UUID, list[Record]] = defaultdict(list)
        self.lines: list[Line] = []
        self.frozen: list[tuple[int, float, float]] = []

    def job(self, job_type: str = "chaos.plain", **columns: Any) -> Job:
        """An accepted job; completed under its first lease unless told otherwise."""
        facts = {"state": State.COMPLETED, "lease": 1, "max_attempts": 1, "finished_at": at(9), "params": {}}
        job = Job(id=UUID(int=next(_numbers)), job_type=job_type, **{**facts, **columns})
        self.rows[job.id] = job
        self.accepted.jobs.add(job.id)
        return job

    def ran(
        self,
        job: Job,
        *lines: tuple[float, str] | tuple[float, str, int],
        lease: int = 1,
        attempt: int = 1,
        pid: int = 1,
        outcome: str = "complete",
    ) -> None:
        """One run: its lines (when, what, note), and its record, none when ``outcome`` is empty."""
        for when, what, *note in lines:
            self.lines.append(
                Line(what, when, str(job.id), lease, attempt, pid, str(note[0] if note else "-"))
            )
        if outcome:
            self.records[job.id].append(Record(lease, outcome, attempt))

    def cancel(self, job: Job, when: float, *, running: bool = False, lease: int = 0) -> None:
        """A cancel of it was accepted."""
        self.accepted.cancelled[job.id] = Cancel(when, running, lease)

    def told(self) -> list[str]:
        """What the table would say."""
        runs: dict[str, dict[int, Run]] = defaultdict(dict)
        for line in sorted(self.lines, key=lambda line: line.at):
            runs[line.job].setdefault(line.lease, Run(line.job, line.lease)).lines.append(line)
        grouped = {job: list(found.values()) for job, found in runs.items()}
        return agree.problems(
            Facts(self.accepted, self.rows, self.records, grouped, Scale(0.2), self.frozen, offset=0.0)
        )


def at(seconds: float) -> datetime:
    """An instant of the database's clock, which is the file's here."""
    return datetime.fromtimestamp(seconds, UTC)


def done(start: float, end: float) -> tuple[tuple[float, str], tuple[float, str]]:
    """The lines of a run that was done."""
    return (start, "start"), (end, "end")
