"""What happens to a schedule that a planner has in hand: the round ends as it began, and the change counts after."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from django.db import connection, connections

from jobsplatform.kernel import clock
from jobsplatform.kernel.models import Tenant
from scheduler import control, pauses, planner, steps
from scheduler.errors import ScheduleNotFound
from scheduler.models import Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.requests import StepResult
from tasks import registry
from tasks.handlers import job
from tasks.models import Job
from tests.database.barriers import Gate
from tests.database.scheduler.tools import ACTOR, create

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def work() -> Iterator[None]:
    with registry.preserved():

        @job("tests.work")
        def work(n: int = 0) -> None: ...

        yield


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[..., StepResult]:
    """Do something while a planner holds a batch at ``point``; what that planner then did."""

    def go(
        act: Callable[[], object], now: datetime, *, point: str = "planned", waits: bool = True
    ) -> StepResult:
        gate = Gate()
        here = threading.get_ident()

        def hold(name: str) -> None:
            if name == point and threading.get_ident() == planning[0]:
                gate.open("held")
                if waits:
                    gate.wait_until_blocked("the batch")
                else:
                    gate.wait("done")

        planning = [here]

        def plan() -> StepResult:
            planning[0] = threading.get_ident()
            try:
                return planner.step(now, instance="first")
            finally:
                connections.close_all()

        monkeypatch.setattr(steps, "reached", hold)
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(plan)
            gate.wait("held")
            planning_thread = planning[0]
            assert planning_thread != here
            act()
            gate.open("done")
            return running.result(30)

    return go


def due() -> datetime:
    """An instant at which one slot of every schedule is due."""
    now = clock.now().replace(second=0, microsecond=0) + 2 * MINUTE
    ScheduleState.objects.update(last_planned_at=now - MINUTE, next_due_at=now - MINUTE)
    Schedule.objects.update(edited_at=now - 5 * MINUTE)
    return now


def logged(schedule_id: str = "s") -> list[str]:
    rows = ScheduleTriggerLog.objects.filter(schedule_id=schedule_id).order_by("triggered_at", "id")
    return [row.status for row in rows]


def test_deleted_while_it_is_planned(meanwhile: Callable[..., StepResult]) -> None:
    create()
    create("other")
    now = due()
    done = meanwhile(lambda: control.delete("s", actor=ACTOR), now)
    assert done.triggered >= 2 and not Schedule.objects.filter(pk="s").exists()
    assert "fired" in logged() and "fired" in logged("other")
    assert Job.objects.filter(schedule_id="s").count() == logged().count("fired")
    assert planner.step(now + MINUTE).triggered == 1
    with pytest.raises(ScheduleNotFound):
        control.run_now("s", key="k", actor=ACTOR)


def test_paused_while_it_is_planned(meanwhile: Callable[..., StepResult]) -> None:
    create()
    now = due()
    done = meanwhile(lambda: pauses.pause("schedule", "s", actor=ACTOR), now)
    assert done.triggered == 1
    assert planner.step(now + 5 * MINUTE).triggered == 0 and logged() == ["fired"]


def test_a_tenant_archived_while_it_is_planned_has_no_later_slot(
    meanwhile: Callable[..., StepResult],
) -> None:
    Tenant.objects.create(tenant_id="acme")
    create(tenants=["acme"])
    now = due()
    archive = Tenant.objects.filter(pk="acme")
    done = meanwhile(lambda: archive.update(state=Tenant.State.ARCHIVED), now, waits=False)
    assert done.triggered == 1
    planner.step(now + MINUTE)
    assert logged() == ["fired", "skipped"]
    assert ScheduleTriggerLog.objects.get(status="skipped").reason == "tenant archived"


def test_edited_by_sql_while_it_is_planned(meanwhile: Callable[..., StepResult]) -> None:
    create()
    now = due()

    def edit() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE scheduler_schedule SET trigger_config = '{\"cron\": \"*/7 * * * *\"}' WHERE id = 's'"
            )

    meanwhile(edit, now, waits=False)
    planner.step(now)
    for minute in range(1, 16):
        planner.edited_outside(now + minute * MINUTE)
        planner.step(now + minute * MINUTE)
    rows = ScheduleTriggerLog.objects.filter(status="fired", planned_at__gt=now)
    assert {row.planned_at.minute % 7 for row in rows if row.planned_at} == {0}
    assert Job.objects.count() == ScheduleTriggerLog.objects.filter(status="fired").count()


def test_run_now_while_it_is_planned_is_a_run_of_its_own(meanwhile: Callable[..., StepResult]) -> None:
    create()
    now = due()
    made = []
    done = meanwhile(lambda: made.append(control.run_now("s", key="k", actor=ACTOR)), now)
    again = control.run_now("s", key="k", actor=ACTOR)
    assert done.triggered == 1 and again.replayed and again.task_id == made[0].task_id
    assert Job.objects.count() == 2
    assert sorted(ScheduleTriggerLog.objects.values_list("origin", flat=True)) == ["auto", "manual:k"]
