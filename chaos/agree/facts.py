"""What is compared: the jobs of one fault as the rows have them, and as the file has them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from chaos.flow import Accepted
from chaos.ledger import Ledger, Run
from chaos.scale import Scale
from jobsplatform.kernel import clock
from tasks.models import Job, JobAttempt


class Record(NamedTuple):
    """The row of one run that has ended: which move ended it, and as which attempt it counted."""

    lease: int
    outcome: str
    number: int


@dataclass(slots=True)
class Facts:
    """``offset``: seconds from the file's clock to the database's. ``frozen``: (process, from, until)."""

    accepted: Accepted
    rows: Mapping[UUID, Job]
    records: Mapping[UUID, Sequence[Record]]
    runs: Mapping[str, list[Run]]
    scale: Scale
    frozen: Sequence[tuple[int, float, float]] = ()
    offset: float = 0.0
    crash_budget: int = 3
    children: Mapping[UUID, list[Job]] = field(init=False)

    def __post_init__(self) -> None:
        children: dict[UUID, list[Job]] = defaultdict(list)
        for job in self.rows.values():
            if job.parent_id is not None:
                children[job.parent_id].append(job)
        self.children = children

    def of(self, job: Job) -> list[Run]:
        """The runs of a job in the order of their first lines."""
        return self.runs.get(str(job.id), [])

    def record(self, job: Job, lease: int) -> Record | None:
        """The record of one of its runs."""
        return next((one for one in self.records.get(job.id, ()) if one.lease == lease), None)


def name(job: Job) -> str:
    """How a job is called in what is told."""
    return f"{job.job_type} {job.id}"


def gather(accepted: Accepted, ledger: Ledger, scale: Scale) -> Facts:
    """Read rows and file."""
    rows = {job.id: job for job in Job.objects.filter(user_id=accepted.tag)}
    records: dict[UUID, list[Record]] = defaultdict(list)
    found = JobAttempt.objects.filter(job__user_id=accepted.tag).order_by("lease")
    for job_id, lease, outcome, number in found.values_list("job_id", "lease", "outcome", "number"):
        records[job_id].append(Record(lease, outcome, number))
    runs = ledger.runs({str(job_id) for job_id in rows})
    clock.current().sync()
    offset = clock.now().timestamp() - time.monotonic()
    return Facts(accepted, rows, records, runs, scale, list(ledger.frozen()), offset)
