"""Histories, one after another, on a database that is empty before each."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from django.core.management.color import no_style
from django.db import DatabaseError, connection

from jobsplatform.kernel import clock
from jobsplatform.kernel.models import Tenant
from scheduler.models import Pause, Schedule, ScheduleState, ScheduleTriggerLog
from simulation import oracle, plans
from simulation.clock import BEGIN, VirtualClock
from simulation.history import SECONDS, History
from tasks.models import Job

MOST_LINES = 20


@dataclass
class Told:
    """How one seed ended. ``wrong`` is empty when every promise held."""

    seed: int
    slots: int = 0
    wrong: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    steps: frozenset[str] = frozenset()
    ledger: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        more = len(self.wrong) - MOST_LINES
        lines = [*self.wrong[:MOST_LINES], *([f"and {more} more"] if more > 0 else [])]
        return "\n".join(
            [f"seed {self.seed}: {len(self.wrong)} broken promises", *(f"  {line}" for line in lines)]
        )


def tell(seed: int) -> Told:
    """Run the history of ``seed`` and compare what is on record with the calendar."""
    _empty()
    virtual = VirtualClock()
    with _chance(seed), clock.use(virtual), plans.job_type():
        history = History(seed, virtual)
        for tenant in plans.TENANTS:
            Tenant.objects.get_or_create(tenant_id=tenant)
        told = Told(seed, counts=history.story.counts)
        try:
            history.run()
        except (AssertionError, DatabaseError) as error:
            told.wrong.append(f"{type(error).__name__}: {error}")
        end = BEGIN + timedelta(seconds=SECONDS)
        for planned in history.schedules:
            told.slots += oracle.count(planned, end)
            told.wrong += oracle.violations(planned, end)
            told.ledger += oracle.shown(planned)
        told.steps = frozenset(history.story.steps)
    return told


@contextmanager
def _chance(seed: int) -> Iterator[None]:
    """What the platform itself leaves to chance comes from the seed too."""
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)


def _empty() -> None:
    models = (ScheduleTriggerLog, ScheduleState, Schedule, Pause, Job)
    tables = [model._meta.db_table for model in models]
    connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), tables, allow_cascade=True))
