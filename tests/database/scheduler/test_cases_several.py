"""What befalls several schedulers: doubled, paused, replaced, or without their store of locks; cranked by hand."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from datetime import datetime, timedelta

import pytest

from jobsplatform.celery import app
from jobsplatform.kernel import clock, config
from jobsplatform.kernel.locks import LockProvider, MemoryLocks
from jobsplatform.kernel.loop import wait_until
from jobsplatform.testing.platform import HandPlatform
from scheduler import planner, queries, steps
from scheduler.beat import LOCK, BeatLoop
from scheduler.models import ScheduleTriggerLog
from scheduler.providers import get_provider
from scheduler.providers.chores import Chores
from scheduler.providers.loop import SchedulerLoop
from scheduler.turns import Turn
from tasks.handlers import job
from tasks.models import Job
from tests.database.scheduler.test_providers import running
from tests.database.scheduler.test_turns import AwayLocks
from tests.database.scheduler.tools import at, create

MINUTE = timedelta(minutes=1)


@pytest.fixture
def work(jobs: HandPlatform) -> None:
    @job("tests.work")
    def work() -> None: ...


def scheduler(name: str, locks: LockProvider) -> SchedulerLoop:
    """A scheduler process that is stepped by hand."""
    loop = SchedulerLoop(instance=name)
    loop.turn = Turn("scheduler:test", name, locks)
    loop._chores = Chores([])
    return loop


def minutes(count: int) -> list[datetime]:
    return [at(12) + n * MINUTE for n in range(1, count + 1)]


def assert_once_each(slots: list[datetime], schedules: int = 1) -> None:
    """One row and one job for each slot of each schedule."""
    wanted = dict.fromkeys(slots, schedules)
    rows = ScheduleTriggerLog.objects.filter(status="fired", slot_count=1)
    assert ScheduleTriggerLog.objects.count() == rows.count()
    assert Counter(rows.values_list("planned_at", flat=True)) == wanted
    assert Counter(Job.objects.values_list("planned_at", flat=True)) == wanted
    assert rows.values("schedule_id", "planned_at").distinct().count() == len(slots) * schedules


@pytest.mark.parametrize("locked", [True, False], ids=["with locks", "without locks"])
def test_three_schedulers_and_101_schedules_of_each_minute(
    jobs: HandPlatform, work: None, locked: bool
) -> None:
    for n in range(101):
        create(f"s{n}", misfire="run_once")
    locks = AwayLocks()
    locks.away = not locked
    loops = [scheduler(f"b{n}", locks) for n in range(3)]
    for minute in minutes(5):
        for second in (0, 2):  # without locks each lets others go first for up to a second
            jobs.clock.set(minute + timedelta(seconds=second))
            for loop in loops:
                while loop.step():
                    pass
        loops.append(loops.pop(0))
    assert_once_each(minutes(5), 101)


def test_a_scheduler_whose_lock_call_fails_fires_nothing_and_the_holder_goes_on(
    jobs: HandPlatform, work: None
) -> None:
    create()
    shared, cut = MemoryLocks(), AwayLocks()
    cut.away = True
    holder, other = scheduler("a", shared), scheduler("b", cut)
    for minute in minutes(5):
        jobs.clock.set(minute)
        other.step()
        holder.step()
        jobs.clock.advance(3)
        other.step()
    assert_once_each(minutes(5))
    assert set(ScheduleTriggerLog.objects.values_list("decided_by", flat=True)) == {"a"}


def test_a_leader_that_stood_still_for_longer_than_its_lock_fires_no_slot_again(
    jobs: HandPlatform, work: None
) -> None:
    create()
    locks = MemoryLocks()
    first, other = scheduler("a", locks), scheduler("b", locks)
    for second in range(0, 365, 5):
        jobs.clock.advance(5 if second else 0)
        if not 150 <= second < 215:  # it stands for longer than its lock lasts
            first.step()
        other.step()
    assert_once_each(minutes(6))
    by = ScheduleTriggerLog.objects.order_by("planned_at").values_list("decided_by", flat=True)
    assert list(by) == ["a", "a", "b", "b", "b", "b"], "when it wakes it sees that the turn is another's"


def test_at_each_of_twenty_deploys_old_and_new_decide_the_minute_once(jobs: HandPlatform, work: None) -> None:
    create()
    locks = MemoryLocks()
    old = scheduler("r0", locks)
    for n, minute in enumerate(minutes(20), 1):
        jobs.clock.set(minute - timedelta(seconds=2))
        new = scheduler(f"r{n}", locks)
        old.step(), new.step()
        jobs.clock.set(minute - timedelta(seconds=0.1))
        old.step()
        old.turn.give_back()  # told to end
        jobs.clock.set(minute)
        new.step()
        old = new
    assert_once_each(minutes(20))
    assert not ScheduleTriggerLog.objects.exclude(triggered_at__in=minutes(20)).exists(), "none is late"


def test_a_store_that_forgets_its_locks_just_after_a_slot_fired_fires_none_again(
    jobs: HandPlatform, work: None
) -> None:
    create()
    locks = MemoryLocks()
    loops = [scheduler("a", locks), scheduler("b", locks)]
    for minute in minutes(5):
        jobs.clock.set(minute)
        loops[0].step()
        jobs.clock.advance(0.5)
        locks._held.clear()
        loops.reverse()
        for loop in loops:
            loop.step()
        jobs.clock.advance(10)
        for loop in loops:
            loop.step()
    assert_once_each(minutes(5))


@pytest.mark.parametrize("step", steps.STEPS)
@pytest.mark.parametrize("later", [1, 5, 60])
def test_a_one_off_whose_scheduler_is_killed_runs_once_and_is_done(
    jobs: HandPlatform, work: None, monkeypatch: pytest.MonkeyPatch, step: str, later: int
) -> None:
    class Dead(BaseException):
        pass

    def die(name: str) -> None:
        if name == step:
            raise Dead

    create(at=at(12, 1).isoformat(), misfire="run_once")
    jobs.clock.set(at(12, 1))
    with monkeypatch.context() as patch:
        patch.setattr(steps, "reached", die)
        with pytest.raises(Dead):
            planner.step(clock.now())
    for _ in range(3):
        jobs.clock.advance(later)
        scheduler("next", MemoryLocks()).step()
    assert_once_each([at(12, 1)])
    (row,) = queries.page(queries.ScheduleFilter(), now=clock.now()).rows
    assert row.finished and row.next_slot_at is None


def test_a_one_off_in_two_seconds_wakes_a_scheduler_that_sleeps_for_five_minutes(
    transactional_db: None,
) -> None:
    with config.override(scheduler={"idle_sleep_seconds": 300, "lock_ttl_seconds": 900}):
        rounds: list[object] = []
        with running(get_provider("local"), on_round=rounds.append):
            wait_until(lambda: len(rounds) >= 2, 10)
            due = clock.now().replace(microsecond=0) + timedelta(seconds=2)
            create("soon", job="maintenance.report", at=due.isoformat(), misfire="run_once")
            wait_until(lambda: ScheduleTriggerLog.objects.filter(schedule_id="soon").exists(), 30)
    row = ScheduleTriggerLog.objects.get(schedule_id="soon")
    assert row.planned_at == due and row.triggered_at - due < timedelta(seconds=5)


def test_minutes_without_redis_leave_nothing_in_memory(
    jobs: HandPlatform, work: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tick each second with broker and locks away: what each one needed is gone when it is over."""
    create(every=1, misfire="run_once")
    monkeypatch.setattr(app.conf, "broker_url", "redis://127.0.0.1:1/0")  # nobody listens there
    locks = AwayLocks()
    locks.away = True
    loop = BeatLoop(app, "b")
    loop.turn = Turn(LOCK, "b", locks)
    loop._chores = Chores([])

    def ticks(count: int) -> None:
        for _ in range(count):
            jobs.clock.advance(1)
            loop._hints._rests_until = float("-inf")  # it asks the broker each time
            loop.step()
            jobs.events.clear()

    ticks(20)  # what is kept for good is loaded by now
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        ticks(100)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert Job.objects.count() > 50, "slots go on all the while"
    assert after - before < 1024 * 1024
