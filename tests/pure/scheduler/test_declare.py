"""Declaring schedules in code, the registry, and what ``manage.py check`` says of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import jobsplatform
from jobsplatform import Misfire, Overlap, schedule
from scheduler.checks import schedule_checks
from scheduler.errors import DuplicateSchedule
from scheduler.registry import Declared, ScheduleRegistry, registry
from scheduler.spec import ScheduleSpec
from tasks import registry as handlers
from tasks.handlers import FunctionHandler, job


@pytest.fixture(autouse=True)
def work() -> Iterator[FunctionHandler]:
    with handlers.preserved(), registry.preserved():
        for declared in registry.all():
            registry.unregister(declared.id)

        @job("declared.work", app_id="video")
        def work(n: int = 0) -> None: ...

        yield work


def told() -> list[tuple[str, str, str]]:
    return [
        (m.id.removeprefix("jobsplatform.scheduler."), m.msg, m.hint or "")
        for m in schedule_checks()
        if not m.msg.startswith("The schedule 'jobsplatform.")
    ]


def test_a_declared_schedule_is_known_with_its_place() -> None:
    made = schedule(
        "s.one", job="video:declared.work", every="7m", misfire=Misfire.SKIP, overlap=Overlap.SKIP
    )
    declared = registry.find("s.one")
    assert declared is not None and declared.spec is made
    assert declared.module == __name__
    assert "test_declare.py:" in declared.place
    assert told() == []


def test_a_handler_stands_for_its_job_type(work: FunctionHandler) -> None:
    made = schedule("s.handler", job=work, cron="@daily", misfire="run_once", params={"n": 3})
    assert (made.app_id, made.job, made.params) == ("video", "declared.work", {"n": 3})
    assert told() == []


@pytest.mark.parametrize(
    ("fields", "number", "words", "hint"),
    [
        ({"job": "video:declared.wrk"}, "E001", "nobody declares", "'video:declared.work'"),
        ({"cron": "0 0 31 2 *"}, "E002", "cron", ""),
        ({"cron": None}, "E002", "nothing says when", "exactly one"),
        ({"timezone": "Mars/Base"}, "E002", "timezone", ""),
        ({"misfire": ""}, "E003", "say what becomes of slots", "misfire="),
        ({"queue": "a b"}, "E005", "queue", ""),
        ({"params": {"m": 1}}, "E005", "param 'm'", ""),
    ],
)
def test_what_is_wrong_is_told_by_the_checks(fields: dict, number: str, words: str, hint: str) -> None:
    schedule("s.bad", **{"job": "video:declared.work", "cron": "30 2 * * *", "misfire": "skip", **fields})
    [(found, message, suggestion)] = told()
    assert found == number
    assert "'s.bad'" in message and "test_declare.py:" in message and words in message
    assert hint in suggestion


def test_a_duplicate_names_both_places_and_the_first_one_stays() -> None:
    first = schedule("s.twice", job="video:declared.work", cron="1 0 * * *", misfire="skip")
    schedule("s.twice", job="video:declared.work", cron="2 0 * * *", misfire="skip")
    [(number, message, _)] = told()
    assert number == "E004"
    assert message.count("test_declare.py:") == 2
    declared = registry.find("s.twice")
    assert declared is not None and declared.spec is first


def test_registering_a_duplicate_raises() -> None:
    known = ScheduleRegistry()
    known.register(Declared(ScheduleSpec(id="a", job="x"), "m", "here:1"))
    with pytest.raises(DuplicateSchedule, match="here:1 and at there:2"):
        known.register(Declared(ScheduleSpec(id="a", job="y"), "m", "there:2"))
    assert [d.place for d in known.all()] == ["here:1"]
    assert known.unregister("a") is not None
    assert known.unregister("a") is None


def test_changes_inside_preserved_are_undone() -> None:
    with registry.preserved():
        schedule("s.gone", job="video:declared.work", every=60, misfire="skip")
    assert registry.find("s.gone") is None


def test_the_public_names_are_there() -> None:
    for name in ("schedule", "Misfire", "Overlap", "Gap", "Fold"):
        assert name in jobsplatform.__all__
        assert getattr(jobsplatform, name)
