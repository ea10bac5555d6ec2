"""Where the time between a slot and its job's start went: the parts add up."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from jobsplatform.kernel import clock
from jobsplatform.telemetry import metrics, schedule_metrics
from jobsplatform.testing.platform import HandPlatform
from scheduler import control, queries
from scheduler.lateness import PARTS, lateness
from scheduler.models import Schedule
from tasks.handlers import job
from tests.database.scheduler.tools import ACTOR, at, create, tick, turn

NOON = at(12)


@pytest.fixture(autouse=True)
def work(jobs: HandPlatform) -> None:
    @job("tests.work", max_attempts=2)
    def work(n: int = 0) -> None:
        if n:
            raise ValueError("as it was told to")


def after(seconds: float):  # type: ignore[no-untyped-def]
    return NOON + timedelta(seconds=seconds)


SPLITS = [
    # decided, run_after, dispatched, started -> parts
    (0.5, None, 0.7, 1.0, (0.5, 0.0, 0.2, 0.3)),
    (0.5, 0.2, 0.7, 1.0, (0.5, 0.0, 0.2, 0.3)),
    (0.5, 600.0, 600.25, 601.0, (0.5, 599.5, 0.25, 0.75)),
    (0.5, None, None, None, (0.5, 0.0)),
    (0.5, None, 0.75, None, (0.5, 0.0, 0.25)),
    (0.5, None, 90.0, 1.0, (0.5, 0.0)),  # sent again for a retry: when it was sent first is not known
    (7200.0, None, 7201.0, 7202.0, (7200.0, 0.0, 1.0, 1.0)),
]


@pytest.mark.parametrize(("decided", "run_after", "dispatched", "started", "wanted"), SPLITS)
def test_the_split(
    decided: float,
    run_after: float | None,
    dispatched: float | None,
    started: float | None,
    wanted: tuple[float, ...],
) -> None:
    at_ = [None if s is None else after(s) for s in (run_after, dispatched, started)]
    found = lateness(NOON, after(decided), *at_)
    assert tuple(round(seconds, 6) for _, seconds in found.parts()) == wanted
    assert [name for name, _ in found.parts()] == list(PARTS[: len(wanted)])
    if len(wanted) == len(PARTS):
        assert found.total == pytest.approx(sum(wanted))
    else:
        assert found.total == started


def test_of_a_real_slot_the_parts_are_the_whole_way(jobs: HandPlatform) -> None:
    create(cron="0 * * * *")
    jobs.advance(3600.25)
    tick()
    jobs.advance(0.5)
    jobs.worker.dispatch()
    jobs.advance(1.25)
    jobs.worker.run()
    (entry,) = queries.show("s", now=clock.now()).decisions
    split = entry.lateness
    assert split is not None
    assert dict(split.parts()) == {
        "due_to_decided": 0.25,
        "delayed": 0.0,
        "decided_to_published": 0.5,
        "published_to_started": 1.25,
    }
    assert split.total == sum(seconds for _, seconds in split.parts()) == 2.0


def page() -> dict[str, float]:
    metrics.forget()
    text = Client().get("/metrics").content.decode()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_the_numbers_page_tells_lateness_by_part_of_live_slots_alone(jobs: HandPlatform) -> None:
    create(cron="0 * * * *")
    jobs.advance(3600.25)
    tick()
    jobs.advance(0.5)
    jobs.worker.dispatch()
    jobs.advance(1.25)
    jobs.worker.run()
    control.run_now("s", key="k", actor=ACTOR)
    jobs.drain()
    jobs.advance(10)
    found = page()
    sums = {
        part: found[f'jobsplatform_slot_lateness_seconds_sum{{part="{part}"}}'] for part in (*PARTS, "total")
    }
    assert sums == {
        "due_to_decided": 0.25,
        "delayed": 0.0,
        "decided_to_published": 0.5,
        "published_to_started": 1.25,
        "total": 2.0,
    }
    assert found['jobsplatform_slot_lateness_seconds_count{part="total"}'] == 1


def test_a_retry_is_not_lateness(jobs: HandPlatform) -> None:
    create(cron="0 * * * *", params={"n": 1})
    jobs.advance(3600)
    tick()
    jobs.drain()
    jobs.advance(3000)
    jobs.sweep()
    jobs.drain()
    jobs.advance(10)
    assert page()['jobsplatform_slot_lateness_seconds_count{part="total"}'] == 1


def test_decisions_are_counted_by_slots_and_carried_on(jobs: HandPlatform) -> None:
    create(cron="* * * * *", misfire="skip")
    jobs.advance(60)
    tick()
    jobs.advance(3600)
    tick()
    assert schedule_metrics.carry_on(clock.now()) == {"fired": 1}  # younger ones wait
    jobs.advance(31)
    wanted = {"fired": 2, "skipped": 59}
    assert schedule_metrics.carry_on(clock.now()) == wanted
    assert schedule_metrics.carry_on(clock.now()) == wanted
    turn(jobs, at(13, 4))
    jobs.advance(31)
    again = schedule_metrics.carry_on(clock.now())
    assert (again["fired"], again["skipped"]) == (5, 59)


def test_states_on_the_numbers_page(jobs: HandPlatform) -> None:
    create("a", cron="30 12 * * *")
    create("b", cron="30 12 * * *")
    Schedule.objects.filter(id="b").update(fault="broken", fault_at=clock.now())
    jobs.clock.set(at(12, 40))
    found = page()
    assert found['jobsplatform_schedules{state="live"}'] == 2
    assert found['jobsplatform_schedules{state="overdue"}'] == 1
    assert found['jobsplatform_schedules{state="faulty"}'] == 1
    assert found["jobsplatform_oldest_due_slot_seconds"] == 600
    assert found["jobsplatform_backfills_running"] == 0
    assert found['jobsplatform_slots_decided_total{status="fired"}'] == 0
