"""The trigger log and the cursors: read-only, exact, and as dear for many rows as for few."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from jobsplatform.kernel.models import Tenant
from jobsplatform.testing.platform import HandPlatform
from scheduler import control, pauses
from scheduler.models import Schedule, ScheduleState, ScheduleTriggerLog
from tasks.handlers import job
from tests.database.scheduler.admin_support import ALL_VIEWS, HOSTILE, logged_in, text
from tests.database.scheduler.tools import ACTOR, at, create, turn

pytestmark = pytest.mark.django_db
LOG = "admin:scheduler_scheduletriggerlog_changelist"
CURSORS = "admin:scheduler_schedulestate_changelist"


@pytest.fixture(autouse=True)
def work(jobs: HandPlatform) -> HandPlatform:
    @job("tests.work")
    def work() -> None: ...

    return jobs


@pytest.fixture
def viewer() -> Client:
    return logged_in(*ALL_VIEWS)


def shown(client: Client, where: str = LOG, **query: Any) -> list[Any]:
    answer = client.get(reverse(where), query)
    assert answer.status_code == 200
    return list(answer.context["cl"].result_list)


def test_decisions_with_outcomes_newest_first(viewer: Client, work: HandPlatform) -> None:
    create("s", timezone="Asia/Kolkata", cron="*/1 * * * *")
    turn(work, at(12, 1))
    work.drain()
    turn(work, at(12, 2))
    rows = shown(viewer)
    assert [f"{row.planned_at:%H:%M}" for row in rows] == ["12:02", "12:01"]
    whole = text(viewer.get(reverse(LOG)))
    assert ">run</span>" in whole and ">waiting</span>" in whole and "17:32:00" in whole and "IST" in whole
    assert "2 decisions" in whole


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"schedule": "a"}, {"a"}), ({"schedule": "x"}, set()), ({"status": "paused"}, {"b"}),
        ({"status": "no such"}, {"a", "b", "c"}), ({"origin": "manual"}, {"c"}), ({"origin": "auto"}, {"a", "b"}),
        ({"origin": "backfill"}, set()), ({"tenant": "acme"}, set()), ({"q": "a"}, {"a"}), ({"q": "A%"}, set()),
        ({"schedule": "a", "status": "fired", "origin": "auto"}, {"a"}),
        ({"decided_from": "2026-01-01T12:00"}, {"a", "b", "c"}),
        ({"decided_to": "2026-01-01T12:00"}, set()), ({"decided_from": "yesterday"}, set()),
        ({"schedule": "\x00"}, set()),
        ({"tenant": "\x00"}, set()), ({"decided_from": "0001-01-01T00:00"}, {"a", "b", "c"}),
    ],
)  # fmt: skip
def test_filters_of_the_log(
    viewer: Client, work: HandPlatform, query: dict[str, str], expected: set[str]
) -> None:
    create("a")
    create("b")
    create("c", manual=True)
    pauses.pause("schedule", "b", actor=ACTOR)
    control.run_now("c", key="k", actor=ACTOR)
    turn(work, at(12, 2))
    pauses.resume("schedule", "b", actor=ACTOR)
    turn(work, at(12, 2, 5))
    assert {row.schedule_id for row in shown(viewer, **query)} == expected


def test_a_job_finds_its_decision(viewer: Client, work: HandPlatform) -> None:
    create("a")
    create("b")
    turn(work, at(12, 1))
    wanted = ScheduleTriggerLog.objects.get(schedule_id="b")
    assert shown(viewer, q=str(wanted.task_id)) == [wanted]


def test_queries_do_not_grow_and_nothing_is_counted_to_its_end(viewer: Client, work: HandPlatform) -> None:
    def ask(where: str) -> CaptureQueriesContext:
        viewer.get(reverse(where))
        with CaptureQueriesContext(connection) as queries:
            viewer.get(reverse(where))
        return queries

    create("s")
    turn(work, at(12, 1))
    few = {where: len(ask(where)) for where in (LOG, CURSORS)}
    for number in range(8):
        create(f"n{number}", timezone="Europe/Berlin")
    turn(work, at(12, 4))
    for where, number in few.items():
        many = ask(where)
        assert len(many) == number, where
        for query in many.captured_queries:
            counts = "COUNT(" in query["sql"] and "scheduler_" in query["sql"]
            assert not counts or "LIMIT" in query["sql"], query["sql"]


def test_the_page_of_a_decision_says_why(viewer: Client, work: HandPlatform) -> None:
    create(HOSTILE)
    turn(work, at(12, 1))
    row = ScheduleTriggerLog.objects.get()
    for _ in range(2):
        page = text(viewer.get(reverse("admin:scheduler_scheduletriggerlog_change", args=[row.pk])))
        assert ">fired</span>" in page and str(row.task_id) in page and "<img src=x" not in page
        Schedule.objects.all().delete()  # its history outlives it


def test_cursors(viewer: Client, work: HandPlatform) -> None:
    Tenant.objects.create(tenant_id="acme")
    create("s", tenants="*")
    create("over", cron="0 1 * * *", end="2026-01-01T06:00")
    turn(work, at(12, 2))
    assert [str(row) for row in shown(viewer, CURSORS)] == ["over", "s acme"]
    assert [row.schedule_id for row in shown(viewer, CURSORS, look="none")] == ["over"]
    assert [row.schedule_id for row in shown(viewer, CURSORS, look="coming")] == ["s"]
    assert shown(viewer, CURSORS, look="due") == [] and len(shown(viewer, CURSORS, q="acme")) == 1
    row = ScheduleState.objects.get(tenant_id="acme")
    page = text(viewer.get(reverse("admin:scheduler_schedulestate_change", args=[row.pk])))
    assert "2026-01-01 12:02:00" in page and "acme" in page


def test_rows_of_django_celery_beat_in_the_same_looks() -> None:
    from django_celery_beat.models import CrontabSchedule, PeriodicTask

    boss = logged_in(is_superuser=True)
    line = CrontabSchedule.objects.create(minute="5")
    task = PeriodicTask.objects.create(name=HOSTILE, task="a.b", crontab=line)
    for model, pk in (("periodictask", task.pk), ("crontabschedule", line.pk)):
        for address in (
            reverse(f"admin:django_celery_beat_{model}_changelist"),
            reverse(f"admin:django_celery_beat_{model}_add"),
            reverse(f"admin:django_celery_beat_{model}_change", args=[pk]),
        ):
            answer = boss.get(address)
            assert answer.status_code == 200 and "<img src=x" not in text(answer)
            assert "unfold" in text(answer)
    for model in ("intervalschedule", "clockedschedule", "solarschedule"):
        assert boss.get(reverse(f"admin:django_celery_beat_{model}_add")).status_code == 200
    viewer = logged_in("django_celery_beat.view_periodictask")
    change = reverse("admin:django_celery_beat_periodictask_change", args=[task.pk])
    assert viewer.post(change, {"name": "x"}).status_code == 403
    boss.post(
        change,
        {"name": "renamed", "task": "a.b", "crontab": line.pk, "args": "[]", "kwargs": "{}", "headers": "{}"},
    )
    task.refresh_from_db()
    assert task.name == "renamed"
