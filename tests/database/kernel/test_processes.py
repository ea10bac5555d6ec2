"""Incarnations and their heartbeats."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobsplatform.kernel import processes
from jobsplatform.kernel.models import Process

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def worker(**facts: Any) -> Process:
    return processes.register("worker", **{"name": "w1@host", "now": NOW, **facts})


def test_a_process_says_what_it_can_do() -> None:
    made = worker(
        queues=["mail", "default"], concurrency=4, handlers=["b:x", ":a"], capabilities={"kill": True}
    )
    row = Process.objects.get(pk=made.pk)
    assert (row.role, row.queues, row.handlers) == ("worker", ["default", "mail"], [":a", "b:x"])
    assert (row.concurrency, row.capabilities) == (4, {"kill": True})
    assert row.started_at == row.heartbeat_at == NOW
    assert row.host
    assert row.pid > 0
    assert row.version


def test_a_restart_is_a_new_incarnation() -> None:
    assert worker().pk != worker().pk
    assert Process.objects.count() == 2


def test_an_unknown_role_is_refused() -> None:
    with pytest.raises(ValueError, match="pilot"):
        worker_of = processes.register
        worker_of("pilot", name="x", now=NOW)


def test_it_lives_as_long_as_its_lease() -> None:
    made = worker()
    assert list(processes.live(later(14.9), 15)) == [made]
    assert list(processes.silent(later(14.9), 15)) == []
    assert list(processes.live(later(15), 15)) == []
    assert list(processes.silent(later(15), 15)) == [made]


def test_a_beat_prolongs_it_and_can_say_more() -> None:
    made = worker()
    assert processes.beat(made.pk, later(10), queues=["mail"], busy_threads=1)
    row = Process.objects.get(pk=made.pk)
    assert (row.heartbeat_at, row.queues, row.busy_threads) == (later(10), ["mail"], 1)
    assert list(processes.live(later(24), 15)) == [made]


def test_a_late_beat_never_turns_the_heartbeat_back() -> None:
    made = worker()
    processes.beat(made.pk, later(10))
    assert processes.beat(made.pk, later(5), busy_threads=2)
    row = Process.objects.get(pk=made.pk)
    assert (row.heartbeat_at, row.busy_threads) == (later(10), 2)
    assert processes.beat(made.pk, later(5))


def test_a_process_declared_lost_cannot_beat_itself_alive() -> None:
    made = worker()
    assert processes.declare_lost(made.pk, later(20), silent_since=later(5))
    assert not processes.beat(made.pk, later(21))
    assert not processes.stop(made.pk, later(22))
    assert list(processes.live(later(21), 15)) == []
    assert Process.objects.get(pk=made.pk).lost_at == later(20)


def test_a_beat_that_came_in_between_prevents_the_declaration() -> None:
    made = worker()
    processes.beat(made.pk, later(19))
    assert not processes.declare_lost(made.pk, later(20), silent_since=later(5))
    assert processes.beat(made.pk, later(21))


def test_a_process_is_declared_lost_once() -> None:
    made = worker()
    assert processes.declare_lost(made.pk, later(20), silent_since=later(5))
    assert not processes.declare_lost(made.pk, later(30), silent_since=later(15))
    assert Process.objects.get(pk=made.pk).lost_at == later(20)


def test_stopping_goes_on_beating_and_stopped_does_not() -> None:
    made = worker()
    assert processes.stopping(made.pk, later(1))
    assert processes.beat(made.pk, later(2))
    assert Process.objects.get(pk=made.pk).stopping
    assert processes.stop(made.pk, later(3))
    assert not processes.beat(made.pk, later(4))
    assert not processes.stop(made.pk, later(5))
    row = Process.objects.get(pk=made.pk)
    assert row.stopped_at == later(3)
    assert row.ended


def test_ended_processes_are_forgotten_after_a_day_and_silent_workers_are_not() -> None:
    stopped, lost, silent = worker(), worker(), worker()
    web = processes.register("web", name="web", now=NOW)
    processes.stop(stopped.pk, NOW)
    processes.declare_lost(lost.pk, NOW, silent_since=NOW)
    assert processes.prune(later(86_399)) == 0
    assert processes.prune(later(86_400)) == 3
    assert list(Process.objects.all()) == [silent]
    assert not Process.objects.filter(pk=web.pk).exists()
