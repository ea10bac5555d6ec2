"""Schedules on real processes: beats and workers that die, stop and lose their Redis; every slot is decided once."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django_celery_beat.models import ClockedSchedule, IntervalSchedule, PeriodicTask

from chaos import storm
from jobsplatform.kernel import clock
from scheduler import export_rows
from scheduler.models import ScheduleState, ScheduleTriggerLog
from tasks.models import Job
from tasks.states import State
from tests.flows.processes import Worker, notes, until
from tests.flows.schedules import ROWS, Beat, clear, create, create_alike, decided
from tests.services import RedisServer, start_redis

pytestmark = pytest.mark.flow

LOCK_SECONDS = "3"
NEVER = "3600"


@pytest.fixture(scope="module")
def own_redis() -> Iterator[RedisServer]:
    with start_redis() as server:
        yield server


@pytest.fixture(scope="module")
def environment(environment: dict[str, str], own_redis: RedisServer) -> dict[str, str]:
    return {
        **environment,
        "REDIS_URL": own_redis.url,
        "SCHEDULER__LOCK_TTL_SECONDS": LOCK_SECONDS,
        "SCHEDULER__SWEEP_AFTER_SECONDS": "2",
    }


@pytest.fixture(scope="module")
def start_beat(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Beat]]:
    """Start a beat: ``start_beat("-S", OURS, SCHEDULER__IDLE_SLEEP_SECONDS="30")``; it ends with the module."""
    beats: list[Beat] = []

    def start(*arguments: str, app: str = "", ready: bool = True, **settings: str) -> Beat:
        log = tmp_path_factory.mktemp("beat") / "log"
        words = {"arguments": arguments} if arguments else {}
        beat = Beat(log, {**environment, **settings}, app=app, **words)
        beats.append(beat)
        if ready:
            beat.wait_ready()
        return beat

    yield start
    for beat in beats:
        beat.kill()


@pytest.fixture(autouse=True)
def nothing_left(db: None, own_redis: RedisServer) -> Iterator[None]:
    """No schedule, row or lock of an earlier test."""
    with own_redis.client() as client:
        client.flushall()
    yield
    clear()
    PeriodicTask.objects.all().delete()


def test_every_slot_is_decided_once_while_beats_and_workers_die(
    start_beat: Callable[..., Beat], start_worker: Callable[..., Worker], own_redis: RedisServer
) -> None:
    seed = int(os.environ.get(storm.SEED) or random.randrange(1_000_000))
    seconds = int(os.environ.get(storm.SECONDS) or 20)
    dice = random.Random(seed)
    beats = [start_beat(ready=False) for _ in range(3)]
    workers = [start_worker("-c", "2", "-n", f"storm{n}@host", ready=False) for n in range(2)]
    for process in (*beats, *workers):
        process.wait_ready()
    first = clock.now().replace(microsecond=0) + timedelta(seconds=5)
    last = first + timedelta(seconds=seconds - 1)
    names = [f"storm-{n}" for n in range(100)]
    create_alike(
        names, every=1, start=first, end=last, misfire="catch_up_limited", misfire_limit=30, anchor=first
    )
    assert clock.now() < first, "the machine is too slow to make them in time"
    standing: list[Beat | Worker] = []
    for second in range(1, seconds - 1):
        at = first + timedelta(seconds=second)
        until(lambda at=at: clock.now() >= at)
        while standing:
            standing.pop().send(signal.SIGCONT)
        what = dice.choice(["kill", "stand", "flush", "rest", "rest", "restart"])
        if what == "kill" and second % 3 == 0:
            victim = dice.choice([beats, beats, workers])
            place = dice.randrange(len(victim))
            victim[place].kill()
            victim[place] = (
                start_beat(ready=False)
                if victim is beats
                else start_worker("-c", "2", "-n", f"storm{second}@host", ready=False)
            )
        elif what == "stand":
            standing.append(dice.choice([*beats, *workers]))
            standing[-1].send(signal.SIGSTOP)
        elif what == "flush":
            with own_redis.client() as client:
                client.flushall()
        elif what == "restart":
            own_redis.kill()
            own_redis.start()
    while standing:
        standing.pop().send(signal.SIGCONT)
    wanted = {(name, first + timedelta(seconds=n)) for name in names for n in range(seconds)}
    log = ScheduleTriggerLog.objects.filter(schedule_id__in=names)
    states = ScheduleState.objects.filter(next_due_at__isnull=False)
    until(lambda: not states.exists(), 60)
    assert set(log.values_list("status", "slot_count")) == {("fired", 1)}, f"seed {seed}"
    assert sorted(log.values_list("schedule_id", "planned_at")) == sorted(wanted), f"seed {seed}"
    jobs = Job.objects.filter(schedule_id__in=names)
    assert sorted(jobs.values_list("schedule_id", "planned_at")) == sorted(wanted), f"seed {seed}"
    until(lambda: not jobs.exclude(state=State.COMPLETED).exists(), 60)
    for process in (*beats, *workers):
        process.kill()


def test_without_any_scheduler_workers_sweep(start_worker: Callable[..., Worker]) -> None:
    worker = start_worker("-c", "1", "-n", "sweep@host")
    create("swept", at=clock.now() + timedelta(seconds=1))
    until(lambda: Job.objects.filter(schedule_id="swept", state=State.COMPLETED).exists())
    assert [status for _, status in decided("swept")] == ["fired"]
    worker.kill()


def test_foreign_rows_tick_once_under_three_beats(
    start_beat: Callable[..., Beat], start_worker: Callable[..., Worker], path: str
) -> None:
    worker = start_worker("-c", "1", "-n", "foreign@host", ready=False)
    beats = [start_beat(ready=False) for _ in range(3)]
    for process in (worker, *beats):
        process.wait_ready()
    at = ClockedSchedule.objects.create(clocked_time=clock.now() + timedelta(seconds=2))
    for n in range(5):
        PeriodicTask.objects.create(
            name=f"once {n}", task="flow.plain", clocked=at, one_off=True, args=f'["{path}", "once{n}"]'
        )
    each = IntervalSchedule.objects.create(every=1, period="seconds")
    often = PeriodicTask.objects.create(
        name="often", task="flow.plain", interval=each, args=f'["{path}", "often"]'
    )
    until(lambda: len(notes(path, "often")) >= 2)
    holder = next(beat for beat in beats if "Sending due task" in beat.output)
    holder.kill()
    before = len(notes(path, "often"))
    until(lambda: len(notes(path, "often")) >= before + 3)
    PeriodicTask.objects.filter(pk=often.pk).update(enabled=False)
    assert [len(notes(path, f"once{n}")) for n in range(5)] == [1] * 5
    often.refresh_from_db()
    # The one that was killed may have claimed a run that it could not send.
    assert often.total_run_count - 1 <= len(notes(path, "often")) <= often.total_run_count
    for process in (worker, *beats):
        process.kill()


def test_an_edit_wakes_a_beat_that_sleeps_long(
    start_beat: Callable[..., Beat], own_redis: RedisServer, environment: dict[str, str]
) -> None:
    beat = start_beat(SCHEDULER__IDLE_SLEEP_SECONDS="60", SCHEDULER__LOCK_TTL_SECONDS="120")
    from scheduler import wakeups

    until(lambda: len(own_redis_subscribers(own_redis)) > 0)
    create("edited", every=1)
    with own_redis.client() as client:
        client.publish(wakeups.CHANNEL, wakeups.EDITED)
    until(lambda: decided("edited"), 10)
    beat.kill()


def own_redis_subscribers(server: RedisServer) -> list[object]:
    with server.client() as client:
        return list(client.pubsub_channels("jobsplatform:schedules"))


def test_sigterm_ends_a_beat_and_gives_its_lock_back(
    start_beat: Callable[..., Beat], own_redis: RedisServer
) -> None:
    beat = start_beat()
    lock = "jobsplatform:lock:scheduler:beat"
    with own_redis.client() as client:
        until(lambda: client.exists(lock))
        beat.send(signal.SIGTERM)
        assert beat.exit_code(5) == 0, beat.output
        assert not client.exists(lock)
    assert not beat.alive


def test_sigterm_ends_a_beat_whose_redis_is_away(
    start_beat: Callable[..., Beat], own_redis: RedisServer
) -> None:
    beat = start_beat()
    create("alone", every=1)
    own_redis.halt()
    try:
        until(lambda: decided("alone"))
        beat.send(signal.SIGTERM)
        assert beat.exit_code(5) == 0, beat.output
    finally:
        own_redis.start()


def test_a_beat_whose_database_sessions_were_cut_goes_on(start_beat: Callable[..., Beat]) -> None:
    beat = start_beat()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        assert cursor.fetchone()[0] > 0
    create("cut", every=1)
    until(lambda: decided("cut"))
    assert beat.process.poll() is None
    beat.kill()


def test_celerys_own_beat_drives_our_schedules(
    start_beat: Callable[..., Beat], start_worker: Callable[..., Worker], tmp_path: Path
) -> None:
    worker = start_worker("-c", "1", "-n", "stock@host", SCHEDULER__SWEEP_AFTER_SECONDS=NEVER)
    create("stock", every=1)
    beat = start_beat("-s", str(tmp_path / "entries"), app="tests.flows.flowapp.stock_beat", ready=False)
    until(lambda: [status for _, status in decided("stock")].count("fired") >= 2)
    for process in (worker, beat):
        process.kill()


def test_django_celery_beats_own_scheduler_drives_our_schedules(
    start_beat: Callable[..., Beat], start_worker: Callable[..., Worker]
) -> None:
    worker = start_worker("-c", "1", "-n", "rows@host", SCHEDULER__SWEEP_AFTER_SECONDS=NEVER)
    create("by rows ☂", every=1)
    export_rows.export_rows(clock.now())
    # The last hint was minutes ago: the next one is due at once, not at the next minute.
    export_rows.ours().update(last_run_at=clock.now() - timedelta(minutes=5))
    beat = start_beat("-S", ROWS, ready=False)
    until(lambda: "fired" in [status for _, status in decided("by rows ☂")])
    for process in (worker, beat):
        process.kill()
