"""From code to rows: created, updated, archived, restored; faulty ones stay out, pauses stay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from jobsplatform.testing.platform import HandPlatform
from scheduler import control, pauses
from scheduler.models import Pause, Schedule
from scheduler.registry import Declared, ScheduleRegistry
from scheduler.sync import SyncResult, sync
from tasks.handlers import job
from tests.database.scheduler.tools import ACTOR, at, create, fired, spec, state, turn


class Code:
    """What the code declares, changed by a test as by a deploy."""

    def __init__(self, jobs: HandPlatform) -> None:
        self.jobs = jobs
        self.known = ScheduleRegistry()

    def deploy(self, **declared: dict[str, Any] | None) -> SyncResult:
        """Declare these (None: no longer) and sync."""
        for name, fields in declared.items():
            self.known.unregister(name)
            if fields is not None:
                self.known.register(Declared(spec(name, **fields), "shop.schedules", "shop/schedules.py:1"))
        return sync(self.jobs.clock.now(), ACTOR, self.known)


@pytest.fixture
def code(jobs: HandPlatform) -> Iterator[Code]:
    @job("tests.work")
    def work(n: int = 0) -> None: ...

    yield Code(jobs)


def test_code_becomes_rows_and_a_second_time_changes_nothing(code: Code) -> None:
    first = code.deploy(a={}, b={"every": 60})
    assert first == SyncResult(created=("a", "b"))
    row = Schedule.objects.get(id="a")
    assert (row.source, row.module, row.revision) == ("code", "shop.schedules", 1)
    code.jobs.advance(600)
    assert code.deploy() == SyncResult(unchanged=("a", "b"))
    assert state("b").last_planned_at == at(12)


def test_a_changed_declaration_begins_at_the_deploy(code: Code) -> None:
    code.deploy(a={"cron": "0 0 * * *"})
    code.jobs.clock.set(at(12, 10))
    assert code.deploy(a={"cron": "*/15 * * * *", "misfire": "run_once"}).updated == ("a",)
    turn(code.jobs, at(12, 20))
    assert fired("a") == ["12:15:00"]


def test_what_is_no_longer_declared_is_archived_and_comes_back_with_its_history(code: Code) -> None:
    code.deploy(a={}, b={})
    turn(code.jobs, at(12, 1))
    assert code.deploy(a=None) == SyncResult(archived=("a",), unchanged=("b",))
    turn(code.jobs, at(12, 3))
    assert fired("a") == ["12:01:00"]
    assert code.deploy(a={"description": "again"}).created == ("a",)
    turn(code.jobs, at(12, 4))
    assert fired("a") == ["12:01:00", "12:04:00"]
    assert Schedule.objects.get(id="a").description == "again"
    code.deploy(a=None)
    control.delete("a", actor=ACTOR)


def test_a_faulty_declaration_leaves_its_row_as_it_is_and_others_go_on(code: Code) -> None:
    code.deploy(a={}, b={})
    told = code.deploy(a={"cron": "61 * * * *", "misfire": ""}, b={"description": "new"})
    assert told.updated == ("b",) and told.archived == ()
    assert {fault.fault.field for fault in told.faults} == {"cron", "misfire"}
    assert "a (shop/schedules.py:1): " in str(told.faults[0])
    turn(code.jobs, at(12, 1))
    assert fired("a") == ["12:01:00"]


def test_an_id_of_the_admin_is_not_taken_over(code: Code) -> None:
    create("a")
    told = code.deploy(a={"cron": "0 0 * * *"})
    assert [fault.fault.code for fault in told.faults] == ["ID_TAKEN"]
    assert Schedule.objects.get().source == "admin"


def test_pauses_stay(code: Code) -> None:
    code.deploy(a={})
    pauses.pause("schedule", "a", actor=ACTOR)
    code.deploy(a={"cron": "*/2 * * * *"})
    turn(code.jobs, at(12, 4))
    assert fired("a") == []
    assert Pause.objects.get().lifted_at is None


def test_enabled_is_followed_where_it_changes_and_what_an_operator_decided_stays(code: Code) -> None:
    code.deploy(a={"enabled": False})
    turn(code.jobs, at(12, 2))
    assert fired("a") == []
    code.deploy(a={"enabled": True})
    turn(code.jobs, at(12, 3))
    assert fired("a") == ["12:03:00"]
    code.deploy(a={"enabled": False})
    pauses.resume("schedule", "a", actor=ACTOR)
    code.deploy()
    turn(code.jobs, at(12, 4))
    assert fired("a")[1:] == ["12:04:00"]


def test_duplicates_are_told(code: Code) -> None:
    code.known.register(Declared(spec("a"), "m", "here:1"))
    with pytest.raises(Exception, match="twice"):
        code.known.register(Declared(spec("a", every=60), "m", "there:2"))
    told = code.deploy()
    assert told.created == ("a",)
    assert [fault.fault.code for fault in told.faults] == ["DUPLICATE"]
