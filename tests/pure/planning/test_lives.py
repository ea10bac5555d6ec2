"""Planner and timetables together over hours and years: phase, restarts, one-offs, outages."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from tests.pure.planning.life import cron, every, once

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_late_trigger_moves_no_later_slot() -> None:
    anchor = utc("2021-07-02T02:02:00")
    life = every(60, anchor, "skip")
    now = anchor
    while len(life.fired) < 60:
        now += timedelta(seconds=0.9)
        life.look(now)
    assert life.slots == [anchor + k * timedelta(minutes=1) for k in range(1, 61)]
    assert life.slots[-1] == utc("2021-07-02T03:02:00")
    assert max(now - slot for slot, now in life.fired) < SECOND


def test_a_year_of_seven_minutes_stays_on_phase_however_late_each_is_decided() -> None:
    anchor, random = utc("2026-01-01T00:00:07"), Random(7)
    life = every(420, anchor, "skip")
    slots = int(365 * DAY / timedelta(minutes=7))
    for k in range(1, slots + 1):
        life.look(anchor + k * timedelta(minutes=7) + timedelta(seconds=random.uniform(0, 3)))
        if not k % 1000:
            life.restart()
    assert life.slots == [anchor + k * timedelta(minutes=7) for k in range(1, slots + 1)]
    assert life.others == []


def test_an_interval_longer_than_the_time_between_restarts_comes() -> None:
    created = utc("2026-01-05T00:00:00")
    life = every(7 * 86_400, created, "run_once")
    now = created
    while now < created + 15 * DAY:
        life.look(now)
        if now.hour == 12:
            life.restart()
        now += timedelta(hours=1)
    assert life.slots == [utc("2026-01-12T00:00:00"), utc("2026-01-19T00:00:00")]


@pytest.mark.parametrize("dies_after", [0.1, 0.5, 1, 2, 3])
def test_a_one_off_fires_once_whatever_restarts(dies_after: float) -> None:
    at = utc("2026-03-02T12:00:00")
    life = once(at, at - DAY, "run_once")
    life.look(at + timedelta(seconds=dies_after / 2))
    life.restart()
    for seconds in range(5, 60):
        life.look(at + timedelta(seconds=dies_after + seconds))
    life.look(at - timedelta(hours=1))
    life.look(at + 400 * DAY)
    assert life.slots == [at]
    assert life.next_due is None


def test_a_one_off_whose_time_has_passed_is_missed_once_or_run_at_once() -> None:
    at, now = utc("2026-03-02T11:00:00"), utc("2026-03-02T12:00:00")
    missed = once(at, at - SECOND, "skip")
    for minutes in range(5):
        missed.look(now + timedelta(minutes=minutes))
    assert missed.slots == []
    assert [(row.status, row.planned_at) for row in missed.others] == [("skipped", at)]
    late = once(at, at - SECOND, "run_once")
    assert late.look(now) == [at]
    assert late.look(now + DAY) == []


def test_a_start_time_in_the_past_makes_no_slot() -> None:
    life = cron("0 15 * * *", utc("2026-03-02T14:02:00"), "run_once", start="2026-03-02T13:58:00+00:00")
    assert life.look(utc("2026-03-02T14:02:00")) == []
    assert life.next_due == utc("2026-03-02T15:00:00")


def test_a_schedule_without_any_time_to_come_is_never_looked_at_again() -> None:
    life = cron("0 15 * * *", utc("2026-03-02T14:02:00"), "run_once", end="2026-01-01T00:00:00+00:00")
    life.look(utc("2026-03-02T14:02:00"))
    assert life.next_due is None


@pytest.mark.parametrize(
    ("misfire", "fired", "others"),
    [
        ("skip", [], [("skipped", 150)]),
        ("run_once", ["11:30"], [("coalesced", 149)]),
        ("catch_up_limited", [f"09:{m:02}" for m in range(1, 11)], [("skipped", 140)]),
    ],
)
def test_an_outage_of_150_minutes(misfire: str, fired: list[str], others: list[tuple[str, int]]) -> None:
    life = cron("* * * * *", utc("2026-03-02T09:00:30"), misfire, misfire_limit=10, catch_up_max=10)
    life.look(utc("2026-03-02T11:30:10"))
    assert [f"{slot:%H:%M}" for slot in life.slots] == fired
    assert [(row.status, row.count) for row in life.others] == others
    assert life.next_due == utc("2026-03-02T11:31:00")


def test_three_days_of_outage_end_with_the_next_minute() -> None:
    life = cron("* * * * *", utc("2026-03-02T00:00:00"), "skip")
    now = utc("2026-03-05T00:00:30")
    assert life.look(now) == []
    assert [row.count for row in life.others] == [4320]
    assert life.next_due == utc("2026-03-05T00:01:00")
    assert life.look(utc("2026-03-05T00:01:00")) == [utc("2026-03-05T00:01:00")]


def test_do_nothing_does_nothing() -> None:
    life = every(15, utc("2026-03-02T16:43:45"), "skip", grace=SECOND)
    life.look(utc("2026-03-02T16:44:42"))
    assert life.slots == []
    assert life.look(utc("2026-03-02T16:44:45")) == [utc("2026-03-02T16:44:45")]


def test_a_new_schedule_has_missed_nothing() -> None:
    created = utc("2026-03-02T11:30:00")
    lives = [
        cron(line, created, "run_once", grace=timedelta(hours=1))
        for line in ("1 11 * * *", "2 11 * * *", "0 12 * * *")
    ]
    assert [life.look(created) for life in lives] == [[], [], []]
    assert [life.next_due for life in lives] == [
        utc("2026-03-03T11:01:00"), utc("2026-03-03T11:02:00"), utc("2026-03-02T12:00:00")
    ]  # fmt: skip


def test_a_late_run_knows_its_slot_and_when_it_was_decided() -> None:
    life = cron("0 0 * * *", utc("2026-03-01T22:00:00"), "run_once")
    life.look(utc("2026-03-02T09:00:00"))
    assert life.fired == [(utc("2026-03-02T00:00:00"), utc("2026-03-02T09:00:00"))]
