"""Our beat: one hint a batch, at a cost that does not grow; and what it does when nobody takes them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobsplatform.celery import app
from jobsplatform.kernel import clock, config
from jobsplatform.kernel.locks import LockProvider, MemoryLocks
from jobsplatform.testing.platform import HandPlatform
from scheduler import beat as beats
from scheduler.beat import BeatLoop, PlatformScheduler
from scheduler.providers.chores import Chores
from scheduler.sweeper import Sweeper
from scheduler.turns import Turn
from tasks.handlers import FunctionHandler, job


class Broker:
    """Stands for ``Hints``: counts what would be sent."""

    def __init__(self, app: Any = None) -> None:
        self.sent: list[int] = []
        self.away = False
        self.unanswered = 0

    def send(self, count: int = 1) -> bool:
        if self.away or self.unanswered:
            return False
        self.sent.append(count)
        return True

    def nobody_answers(self) -> None:
        self.unanswered += 1

    def close(self) -> None:
        return None


@pytest.fixture
def report(jobs: HandPlatform) -> FunctionHandler:
    @job("beat.report")
    def report() -> None:
        return None

    return report


def make(
    monkeypatch: pytest.MonkeyPatch, name: str = "b1", locks: LockProvider | None = None
) -> tuple[BeatLoop, Broker]:
    monkeypatch.setattr(beats, "Hints", Broker)
    loop = BeatLoop(app, name)
    loop.turn = Turn(beats.LOCK, name, locks or MemoryLocks())
    loop._chores = Chores([])
    return loop, loop._hints  # type: ignore[return-value]


@pytest.mark.parametrize(("due", "messages"), [(1, 1), (10, 1), (11, 2), (35, 4), (90, 4)])
def test_one_message_a_batch(
    jobs: HandPlatform, report: FunctionHandler, monkeypatch: pytest.MonkeyPatch, due: int, messages: int
) -> None:
    for n in range(due):
        jobs.schedule(report, id=f"s{n}", cron="0 13 * * *")
    jobs.plan()
    loop, broker = make(monkeypatch)
    with config.override(scheduler={"batch": 10}):
        loop.step()
        assert broker.sent == []
        jobs.advance(3600)
        loop.step()
    assert broker.sent == [messages]


def test_a_tick_costs_the_same_however_many_schedules_there_are(
    jobs: HandPlatform, report: FunctionHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, _ = make(monkeypatch)
    counts = []
    for n in range(3):
        for m in range(50 * n):
            jobs.schedule(report, id=f"s{n}-{m}", cron="0 13 * * *")
        jobs.plan()
        loop.step()
        with CaptureQueriesContext(
            connection,
        ) as queries:
            loop.step()
        counts.append(len(queries))
    assert counts == [1, 1, 1]


def test_it_sleeps_until_the_next_slot_but_not_for_long(
    jobs: HandPlatform, report: FunctionHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs.schedule(report, cron="0 13 * * *")
    jobs.plan()
    loop, _ = make(monkeypatch)
    loop.step()
    assert loop.wait_seconds() == 1
    jobs.advance(3599.75)
    loop.step()
    assert loop.wait_seconds() == pytest.approx(0.25)


def test_a_hint_is_not_repeated_while_it_may_be_answered(
    jobs: HandPlatform, report: FunctionHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs.schedule(report, cron="0 13 * * *")
    jobs.plan()
    loop, broker = make(monkeypatch)
    jobs.advance(3600)
    for _ in range(5):
        loop.step()
        jobs.advance(0.1)
    assert broker.sent == [1]
    assert jobs.ledger() == []


def test_what_nobody_takes_is_planned_here(
    jobs: HandPlatform, report: FunctionHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs.schedule(report, cron="0 13 * * *")
    jobs.plan()
    loop, broker = make(monkeypatch)
    jobs.advance(3600)
    loop.step()
    jobs.advance(1.1)
    loop.step()
    assert (broker.sent, broker.unanswered) == ([1], 1)
    assert [row.status for row in jobs.ledger()] == ["fired"]


def test_without_a_broker_it_plans_at_once(
    jobs: HandPlatform, report: FunctionHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs.schedule(report, cron="0 13 * * *")
    jobs.plan()
    loop, broker = make(monkeypatch)
    broker.away = True
    jobs.advance(3600)
    loop.step()
    (row,) = jobs.ledger()
    assert (row.status, row.decided_by) == ("fired", "b1")


def test_of_two_beats_one_hints_and_the_other_looks_after_what_lies(
    jobs: HandPlatform, report: FunctionHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs.schedule(report, every=10)
    jobs.plan()
    locks = MemoryLocks()
    (first, to_first), (second, to_second) = make(monkeypatch, "b1", locks), make(monkeypatch, "b2", locks)
    first.step()
    second.step()
    jobs.advance(10)
    second.step()
    assert to_second.sent == []
    jobs.advance(2)  # the first one was killed
    second.step()
    assert (to_first.sent, to_second.sent) == ([], [1])


def test_a_lazy_one_does_nothing() -> None:
    """The beat program makes one to show it in its banner."""
    scheduler = PlatformScheduler(app, lazy=True)
    assert "django-celery-beat" in scheduler.info
    scheduler.close()


def test_a_worker_plans_what_lies_for_long(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, cron="0 13 * * *")
    jobs.plan()
    sweeper = Sweeper("w1")
    sweeper._chores = Chores([])
    jobs.advance(3604)
    sweeper.step()
    assert jobs.ledger() == []
    jobs.advance(1)
    sweeper.step()
    assert [(row.status, row.decided_by) for row in jobs.ledger()] == [("fired", "w1")]
    assert clock.now() == jobs.ledger()[0].triggered_at
