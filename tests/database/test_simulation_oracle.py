"""The simulation's comparison can fail: a history in order is doctored in one place, and the complaint must come."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random

import pytest
from django.db.models import F

from jobsplatform.kernel import clock
from scheduler.models import ScheduleTriggerLog
from simulation import oracle, plans
from simulation.actors import drain
from simulation.clock import BEGIN, VirtualClock
from simulation.plans import Planned
from tasks.models import Job

pytestmark = pytest.mark.django_db(transaction=True)

END = 60
HOUR = timedelta(hours=1)


def one(**fields: object) -> ScheduleTriggerLog:
    row = ScheduleTriggerLog.objects.filter(**fields).order_by("planned_at").first()
    assert row is not None
    return row


def drop_decision() -> None:
    one(status="fired").delete()


def drop_job() -> None:
    Job.objects.filter(id=one(status="fired").task_id).delete()


def move_job() -> None:
    Job.objects.filter(id=one(status="fired").task_id).update(
        planned_at=F("planned_at") + timedelta(seconds=1)
    )


def miscount() -> None:
    ScheduleTriggerLog.objects.filter(slot_count__gt=1).update(slot_count=F("slot_count") + 1)


def widen() -> None:
    row = one(slot_count__gt=1)
    ScheduleTriggerLog.objects.filter(id=row.id).update(
        planned_until=row.planned_until + timedelta(seconds=10), slot_count=row.slot_count + 1
    )


def move_slot() -> None:
    ScheduleTriggerLog.objects.filter(id=one(status="fired").id).update(
        planned_at=F("planned_at") + timedelta(seconds=1)
    )


def exclude() -> None:
    ScheduleTriggerLog.objects.filter(id=one(status="fired").id).update(
        status="excluded", reason="excluded date"
    )


def decide_the_past() -> None:
    ScheduleTriggerLog.objects.filter(id=one(status="fired").id).update(planned_at=F("planned_at") - HOUR)


@pytest.mark.parametrize(
    ("doctor", "complaint"),
    [
        (drop_decision, "was never decided"),
        (drop_decision, "that no decision knows"),
        (drop_job, "fired without a job of its own"),
        (move_job, "its job is for"),
        (miscount, "the calendar has"),
        (widen, "is decided twice"),
        (move_slot, "the calendar has 0 slots there"),
        (exclude, "excluded and others are mixed up"),
        (decide_the_past, "of before the creation"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_doctored_history_is_complained_of(doctor: Callable[[], None], complaint: str) -> None:
    planned = Planned("doctored", 10, "run_once")
    virtual = VirtualClock()
    with clock.use(virtual), plans.job_type():
        plans.create(planned, Random(0), clock.now())
        for virtual.seconds in (35.0, float(END)):
            drain("one", clock.now())
    end = BEGIN + timedelta(seconds=END)
    assert oracle.violations(planned, end) == []
    doctor()
    assert complaint in "\n".join(oracle.violations(planned, end))
