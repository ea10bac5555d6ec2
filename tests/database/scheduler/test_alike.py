"""Schedules that are alike are planned and written together, and stay apart where they differ."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.db import DataError, transaction

from jobsplatform.kernel import clock
from jobsplatform.kernel.ids import uuid7
from jobsplatform.testing.platform import HandPlatform
from scheduler import planner, planning
from scheduler.models import ScheduleState, ScheduleTriggerLog
from scheduler.slots import Slot
from scheduler.sql import log
from scheduler.sql.document import ROWS, document
from tasks.handlers import job
from tasks.models import Job
from tests.database.scheduler.tools import JOB, at, create, decided, state, tick


@pytest.fixture(autouse=True)
def work(jobs: HandPlatform) -> None:
    @job(JOB)
    def work(n: int = 0) -> int:
        return n


def planned(jobs: HandPlatform, seconds: float = 60) -> int:
    """How often a rule was thought through in the round that follows."""
    jobs.advance(seconds)
    with patch.object(planning, "plan", wraps=planning.plan) as plan:
        planner.step(clock.now())
    return plan.call_count


def test_what_shares_its_rule_and_its_cursor_is_planned_once(jobs: HandPlatform) -> None:
    for n in range(5):
        create(f"s{n}", params={"n": n})
    create("other", cron="*/2 * * * *")
    tick()
    assert planned(jobs, 120) == 2
    assert Job.objects.filter(planned_at=at(12, 2)).count() == 6
    assert sorted(Job.objects.exclude(schedule_id="other").values_list("params__n", flat=True)) == [
        0,
        1,
        2,
        3,
        4,
    ]


def test_how_often_it_has_fired_sets_none_apart_that_has_no_last_run(jobs: HandPlatform) -> None:
    create("old")
    create("new")
    tick()
    ScheduleState.objects.filter(schedule_id="old").update(fired=41)
    assert planned(jobs) == 1
    assert (state("old").fired, state("new").fired) == (42, 1)


def test_runs_are_counted_for_each_schedule_alone(jobs: HandPlatform) -> None:
    create("old", max_runs=3)
    create("new", max_runs=3)
    tick()
    ScheduleState.objects.filter(schedule_id="old").update(fired=2)
    assert planned(jobs) == 2
    assert (state("old").next_due_at, state("new").next_due_at) == (None, at(12, 2))
    assert (state("old").fired, state("new").fired) == (3, 1)


def test_a_policy_sets_schedules_apart(jobs: HandPlatform) -> None:
    create("skips")
    create("catches-up", misfire="run_once")
    tick()
    assert planned(jobs, 200) == 2
    assert decided("skips") == [("12:01:00", "skipped", 3)]
    assert decided("catches-up") == [("12:01:00", "coalesced", 2), ("12:03:00", "fired", 1)]


# -- writing --------------------------------------------------------------------------------------------------------


def slot(**fields: Any) -> Slot:
    names = {f.attname: f.get_default() for f in ScheduleTriggerLog._meta.concrete_fields}
    given = {"schedule_id": "s", "planned_at": at(12), "triggered_at": at(12), "origin": "auto", **fields}
    return Slot(**{**names, "id": uuid7(), "status": "skipped", "reason": "test", **given})


def test_a_column_that_is_the_same_everywhere_is_bound_once() -> None:
    one = slot()
    names, bound = document([one, another(one), another(one, error="x")], ("id", "schedule_id"))
    assert names == ("id", "schedule_id", "error")
    assert bound.keys() == {*Slot._fields, ROWS} - {"id", "schedule_id", "error"}
    assert bound["planned_at"] == at(12)


def another(row: Slot, **fields: Any) -> Slot:
    return row._replace(id=uuid7(), **fields)


@pytest.mark.parametrize(
    "second", [{"tenant_id": "t"}, {"planned_at": at(13), "reason": "%s 'quoted' %(rows)s"}]
)
def test_rows_come_back_as_they_were_whatever_they_share(jobs: HandPlatform, second: dict[str, Any]) -> None:
    rows = [slot(error="it's 100 % \\ \u2713", purge_at=at(14)), slot(fencing_token=7, **second)]
    log.insert(rows)
    found = {row.pk: row for row in ScheduleTriggerLog.objects.all()}
    assert [Slot(*(getattr(found[row.id], name) for name in Slot._fields)) for row in rows] == rows


@pytest.mark.postgres
@pytest.mark.parametrize("count", [1, 2])
def test_a_text_that_is_too_long_is_refused_not_cut(jobs: HandPlatform, count: int) -> None:
    rows = [slot(reason="x" * 501, planned_at=at(12) + timedelta(minutes=n)) for n in range(count)]
    with pytest.raises(DataError), transaction.atomic():
        log.insert(rows)
    assert not ScheduleTriggerLog.objects.exists()
