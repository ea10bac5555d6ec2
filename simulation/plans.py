"""The schedules of a history, and their calendar by plain arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from random import Random

from jobsplatform.kernel.audit import Actor
from scheduler import control
from scheduler.spec import ScheduleSpec
from simulation.clock import BEGIN
from tasks import registry
from tasks.handlers import job

ACTOR = Actor.system("simulation")
JOB = "simulated.work"
TENANTS = ("acme", "globex")
MISFIRES = ("skip", "run_once", "catch_up_limited")
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Planned:
    """One schedule of a history. ``period`` in seconds from EPOCH on; its slots of ``excluded`` are taken out.

    ``edits`` by tenant: from when on (exclusive) it has which period instead.
    """

    id: str
    period: int
    misfire: str
    tenants: tuple[str, ...] = ("",)
    excluded: date | None = None
    max_runs: int | None = None
    minutely: bool = False
    edits: dict[str, list[tuple[datetime, int]]] = field(default_factory=dict)

    def calendar(self, until: datetime, since: datetime = BEGIN, tenant: str = "") -> Iterator[datetime]:
        """Every slot after ``since``, those taken out too; by the rule that was in force then."""
        period = self.period
        for edit, later in [*self.edits.get(tenant, []), (until, 0)]:
            yield from _every(period, since, min(edit, until))
            since, period = max(since, edit), later

    def taken_out(self, slot: datetime) -> bool:
        return slot.date() == self.excluded


def _every(period: int, after: datetime, until: datetime) -> Iterator[datetime]:
    step = timedelta(seconds=period)
    slot = EPOCH + ((after - EPOCH) // step + 1) * step
    while slot <= until:
        yield slot
        slot += step


def schedules(random: Random, prefix: str) -> list[Planned]:
    """One of each misfire policy, one for tenants, and sometimes one that ends or has an excluded date."""
    planned = [
        Planned(f"{prefix}-{misfire}", random.choice([5, 7, 11, 13, 20]), misfire) for misfire in MISFIRES
    ]
    planned.append(Planned(f"{prefix}-tenants", 30, random.choice(MISFIRES), tenants=TENANTS))
    planned.append(Planned(f"{prefix}-minutely", 60, random.choice(MISFIRES), minutely=True))
    if random.random() < 0.5:
        planned.append(Planned(f"{prefix}-excluded", 10, random.choice(MISFIRES), excluded=date(2026, 3, 2)))
    if random.random() < 0.5:
        planned.append(Planned(f"{prefix}-ends", 9, random.choice(MISFIRES), max_runs=random.randint(1, 20)))
    return planned


def create(planned: Planned, random: Random, now: datetime) -> None:
    """Store it, with limits of its own."""
    control.create(
        ScheduleSpec(
            id=planned.id,
            job=JOB,
            cron="* * * * *" if planned.minutely else None,
            every=None if planned.minutely else planned.period,
            anchor=None if planned.minutely else EPOCH,
            exclude=[planned.excluded] if planned.excluded else (),
            max_runs=planned.max_runs,
            misfire=planned.misfire,
            misfire_limit=random.randint(1, 4),
            catch_up_window=random.choice([30, 300, None]),
            catch_up_max=random.choice([None, None, 3, 8]),
            grace=random.choice([None, 1, 2]),
            tenants=None if planned.tenants == ("",) else planned.tenants,
        ),
        actor=ACTOR,
        now=now,
    )


@contextmanager
def job_type() -> Iterator[None]:
    """The type of all jobs of a history. None of them is run."""
    with registry.preserved():

        @job(JOB)
        def work() -> None: ...

        yield
