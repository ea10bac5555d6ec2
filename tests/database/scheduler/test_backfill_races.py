"""Several steppers of one backfill on real connections: no slot twice, none left out, never too many at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import pytest

from jobsplatform.kernel import clock
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.loop import wait_until
from scheduler import backfill, control, planner
from scheduler.backfill_choice import Choice, Chooser
from scheduler.models import Backfill, ScheduleState, ScheduleTriggerLog
from scheduler.spec import ScheduleSpec
from tasks import registry
from tasks.handlers import job
from tasks.models import Job
from tests.database.barriers import PATIENCE, Gate
from tests.database.test_races import together

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

ACTOR = Actor("racer", "user")


@pytest.fixture(autouse=True)
def work() -> Iterator[None]:
    with registry.preserved():

        @job("race.work")
        def work() -> None: ...

        yield


def end_jobs() -> None:
    now = clock.now()
    Job.objects.filter(finished_at__isnull=True).update(state="completed", hold="", finished_at=now)


def test_four_steppers_of_three_backfills() -> None:
    now = clock.now()
    for n in range(3):
        control.create(ScheduleSpec(id=f"s{n}", job="race.work", every=60, misfire="skip"), actor=ACTOR)
    rows = [
        backfill.start(f"s{n}", now - timedelta(hours=1), now, "all", actor=ACTOR, concurrency=5)
        for n in range(3)
    ]

    def stepper() -> int:
        return sum(backfill.step(clock.now() + timedelta(seconds=5), limit=20) for _ in range(4))

    for _ in range(60):
        together([stepper] * 4)
        open_jobs = Counter(
            Job.objects.filter(finished_at__isnull=True).values_list("schedule_id", flat=True)
        )
        assert max(open_jobs.values(), default=0) <= 5
        end_jobs()
        Backfill.objects.filter(state="running").update(next_look_at=now)
        if not Backfill.objects.filter(state="running").exists():
            break
    for row in rows:
        row.refresh_from_db()
        slots = Counter(Job.objects.filter(schedule_id=row.schedule_id).values_list("planned_at", flat=True))
        assert row.state == "done" and row.submitted == row.done == row.total == len(slots) == 60
        assert set(slots.values()) == {1}
        assert ScheduleTriggerLog.objects.filter(origin=f"backfill:{row.id}").count() == 60


@pytest.mark.parametrize("with_state", [True, False], ids=["with a state", "without a state"])
def test_two_that_want_missing_slots_and_look_at_one_in_the_same_instant(
    monkeypatch: pytest.MonkeyPatch, with_state: bool
) -> None:
    """The first stands between its look and its job; the second has to wait, and finds the slot run."""
    control.create(ScheduleSpec(id="s", job="race.work", every=60, misfire="skip"), actor=ACTOR)
    if not with_state:
        ScheduleState.objects.all().delete()
    now = clock.now()
    for _ in range(2):
        backfill.start("s", now - timedelta(minutes=3), now, actor=ACTOR, concurrency=5)
    later = clock.now()
    chose, gate, looks = Chooser.choose, Gate(), []

    def choose(chooser: Chooser, slots: Sequence[datetime]) -> list[Choice]:
        found = chose(chooser, slots)
        looks.append(chooser.own)
        if len(looks) == 1:
            gate.open("the first has looked")
            wait_until(lambda: len(looks) > 1 or gate.blocks_another(), timeout=PATIENCE, every=0.01)
        return found

    monkeypatch.setattr(Chooser, "choose", choose)

    def second() -> int:
        gate.wait("the first has looked")
        return backfill.step(later)

    together([lambda: backfill.step(later), second])
    slots = Counter(Job.objects.values_list("planned_at", flat=True))
    assert len(slots) == 3 and set(slots.values()) == {1}
    assert sorted(Backfill.objects.values_list("submitted", "passed_over")) == [(0, 3), (3, 0)]


def test_a_planner_and_steppers_of_one_schedule_stand_in_nobodys_way() -> None:
    """The planner passes over a state that is held, and comes back: its slots are decided once each too."""
    control.create(ScheduleSpec(id="s", job="race.work", every=1, misfire="catch_up_limited"), actor=ACTOR)
    now = clock.now()
    backfill.start("s", now - timedelta(seconds=200), now, "all", actor=ACTOR, concurrency=100)
    later = now + timedelta(seconds=30)

    def plan() -> int:
        return sum(planner.step(later).triggered for _ in range(15))

    def stepper() -> int:
        return sum(backfill.step(later) for _ in range(40))

    together([plan, stepper, plan, stepper])
    while planner.step(later).more:
        pass
    while backfill.step(later):  # a round ends after a while, and a busy machine does little in one
        pass
    live = Job.objects.filter(schedule_id="s").exclude(origin="backfill")
    auto = ScheduleTriggerLog.objects.filter(origin="auto", status="fired")
    assert Counter(live.values_list("planned_at", flat=True)).most_common(1)[0][1] == 1
    assert live.count() == auto.count() >= 29
    old = Counter(Job.objects.filter(origin="backfill").values_list("planned_at", flat=True))
    assert set(old.values()) == {1} and len(old) == 100
