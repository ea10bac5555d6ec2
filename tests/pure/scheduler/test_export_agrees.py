"""Exported schedules: with stock Beat, or stock django-celery-beat, as the only one who hints, no slot lacks a hint."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta

import pytest

from scheduler import timetables
from scheduler.export import NAME_LENGTH, PlannedSchedule, entry_name
from scheduler.hint_times import ALWAYS, hint_times
from tests.pure.scheduler.stock_beat import DrivenBeat, Rule, TurnedClock, lacking, planned, rows, slots

CRONS = {
    "day of month or of week": ("0 0 13 * 5", "UTC"),
    "seven is Sunday": ("0 0 * * 7", "UTC"),
    "up to seven": ("0 0 * * 5-7", "UTC"),
    "from five on": ("5/15 * * * *", "UTC"),
    "in the gap and the fold": ("30 2 * * *", "Europe/Berlin"),
    "every quarter": ("*/15 * * * *", "Europe/Berlin"),
    "hourly": ("0 * * * *", "Europe/Berlin"),
    "Tokyo": ("0 9 * * *", "Asia/Tokyo"),
    "New York": ("0 9 * * *", "America/New_York"),
    "half an hour": ("45 1,2 * * *", "Australia/Lord_Howe"),
    "three quarters": ("10 8 * * *", "Asia/Kathmandu"),
    "last day": ("0 6 L * *", "Europe/Berlin"),
    "last Sunday": ("30 2 * * 0L", "Europe/Berlin"),
    "hashed": ("H H * * *", "Europe/Berlin"),
    "midnight": ("0 0 * * *", "America/Santiago"),
}
ANCHOR = "2026-01-01T00:00:17Z"
RULES: dict[str, Rule] = {
    **{name: ("cron", {"cron": text}, zone) for name, (text, zone) in CRONS.items()},
    "both passes": ("cron", {"cron": "30 2 * * *", "fold": "both", "gap": "shift"}, "Europe/Berlin"),
    "7m": ("interval", {"every": 420, "anchor": ANCHOR}, "UTC"),
    "90m": ("interval", {"every": 5400, "anchor": ANCHOR}, "UTC"),
    "2d": ("interval", {"every": 172_800, "anchor": ANCHOR}, "UTC"),
    "months": ("interval", {"months": 1, "anchor": "2026-01-29T01:30:05Z"}, "Europe/Berlin"),
    "once": ("date", {"at": "2026-03-29T01:00:00Z"}, "UTC"),
    "once more": ("date", {"at": "2026-10-25T00:59:30Z"}, "UTC"),
    "bounded": ("cron", {"cron": "*/10 * * * *", "exclude": ["03-29", "10-25"], "start": ANCHOR}, "UTC"),
}
WINDOWS = [datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 10, 24, 12, tzinfo=UTC)]
WINDOWS += [datetime(2026, 4, 4, 6, tzinfo=UTC), datetime(2026, 9, 5, 18, tzinfo=UTC)]
LENGTH = timedelta(hours=30)


@pytest.mark.parametrize("start", WINDOWS, ids=lambda at: f"{at:%B}")
@pytest.mark.parametrize("language", ["ours", "cron in UTC"])
def test_no_slot_lacks_a_hint(start: datetime, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = TurnedClock(start)
    made = planned(clock, RULES) if language == "ours" else rows(clock, RULES, monkeypatch)
    hints = DrivenBeat(clock, made).run(start + LENGTH + timedelta(minutes=2))
    wanted = {name: slots(rule, name, start, start + LENGTH) for name, rule in RULES.items()}
    assert sum(map(len, wanted.values())) > 300
    assert {
        name: lacking(wanted[name], hints[name]) for name in RULES if lacking(wanted[name], hints[name])
    } == {}
    most = LENGTH / timedelta(minutes=1) + 3
    assert all(len(found) <= most for found in hints.values()), "at worst one a minute"


def test_our_language_hints_at_slots_alone() -> None:
    start = WINDOWS[0]
    clock = TurnedClock(start)
    hints = DrivenBeat(clock, planned(clock, RULES)).run(start + LENGTH)
    for name, rule in RULES.items():
        wanted = slots(rule, name, start, start + LENGTH)
        late = [hint - slot for hint, slot in zip(hints[name], wanted, strict=False)]
        assert len(hints[name]) in (len(wanted), len(wanted) - 1), name
        assert all(timedelta(0) <= one < timedelta(seconds=1) for one in late), name


def test_day_of_month_or_of_week_in_june() -> None:
    """0 0 13 * 5: Beat's own crontab would take the 13th alone, when it is a Friday."""
    start = datetime(2025, 5, 31, tzinfo=UTC)
    clock = TurnedClock(start)
    rule: Rule = ("cron", {"cron": "0 0 13 * 5"}, "UTC")
    hints = DrivenBeat(clock, planned(clock, {"it": rule})).run(datetime(2025, 7, 1, tzinfo=UTC))
    assert [hint.day for hint in hints["it"]] == [6, 13, 20, 27]


def test_zones_are_the_schedules_own() -> None:
    start = datetime(2026, 1, 15, tzinfo=UTC) - timedelta(seconds=1)
    clock = TurnedClock(start)
    rules = {name: RULES[name] for name in ("Tokyo", "New York")}
    hints = DrivenBeat(clock, planned(clock, rules)).run(start + timedelta(days=1))
    assert {name: found[0].hour for name, found in hints.items()} == {"Tokyo": 0, "New York": 14}


def test_a_row_hints_no_oftener_than_it_must() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    berlin = hint_times("cron", {"cron": "30 2 * * *"}, "Europe/Berlin", now)
    assert berlin is not None
    assert (sorted(berlin.minutes), sorted(berlin.hours)) == ([0, 30], [0, 1])
    tokyo = hint_times("cron", {"cron": "0 9 * * *"}, "Asia/Tokyo", now)
    assert tokyo is not None
    assert (tokyo.minute_field, tokyo.hour_field) == ("0", "0-0")
    assert hint_times("interval", {"every": 1}, "UTC", now) == ALWAYS
    assert hint_times("interval", {"every": 3600, "from": "last_end"}, "UTC", now) == ALWAYS
    assert hint_times("manual", {}, "UTC", now) is None


def test_after_a_long_outage_one_hint_comes_at_once() -> None:
    clock = TurnedClock(datetime(2026, 6, 1, 12, tzinfo=UTC))
    entry = PlannedSchedule("cron", {"cron": "0 9 * * *"}, "UTC", nowfun=clock.now)
    due, pause = entry.is_due(datetime(2026, 5, 1, tzinfo=UTC))
    assert due
    assert pause == 21 * 3600
    assert not entry.is_due(clock.at).is_due


def test_a_hint_of_the_same_second_is_not_given_twice() -> None:
    clock = TurnedClock(datetime(2026, 6, 1, 9, 0, 0, 700_000, tzinfo=UTC))
    entry = PlannedSchedule("cron", {"cron": "0 9 * * *"}, "UTC", nowfun=clock.now)
    assert not entry.is_due(datetime(2026, 6, 1, 9, 0, 0, 300_000, tzinfo=UTC)).is_due
    assert entry.is_due(datetime(2026, 6, 1, 8, 59, 59, 990_000, tzinfo=UTC)).is_due


def test_an_interval_from_the_last_end_is_asked_about_every_minute() -> None:
    clock = TurnedClock(datetime(2026, 6, 1, 9, tzinfo=UTC))
    entry = PlannedSchedule("interval", {"every": 3600, "from": "last_end"}, "UTC", nowfun=clock.now)
    assert entry.is_due(clock.at).next == 60
    assert entry.is_due(clock.at - timedelta(seconds=60)).is_due


def test_an_entry_survives_the_schedule_file_and_knows_its_equal() -> None:
    entry = PlannedSchedule("cron", {"cron": "0 9 * * *"}, "Asia/Tokyo", "späte Schicht ☂")
    again = pickle.loads(pickle.dumps(entry))
    assert again == entry
    assert hash(again) == hash(entry)
    assert again != PlannedSchedule("cron", {"cron": "0 9 * * *"}, "UTC", "späte Schicht ☂")
    assert again != "something else"
    assert "späte Schicht ☂" in repr(again)


def test_a_schedule_that_is_over_is_asked_about_seldom() -> None:
    clock = TurnedClock(datetime(2026, 6, 1, 9, tzinfo=UTC))
    entry = PlannedSchedule("date", {"at": "2026-05-01T00:00:00Z"}, "UTC", nowfun=clock.now)
    assert entry.is_due(clock.at) == (False, 86_400)
    assert entry.remaining_estimate(clock.at) == timedelta(days=1)


@pytest.mark.parametrize("schedule_id", ["a", "späte Schicht ☂", "x" * 200, "y" * 187, "y" * 188])
def test_names_fit_and_stay_apart(schedule_id: str) -> None:
    name = entry_name(schedule_id)
    assert len(name) <= NAME_LENGTH
    assert name != entry_name(schedule_id[:-1] + "z")
    assert name == entry_name(schedule_id)


def test_the_calendar_of_these_tests_is_not_empty() -> None:
    for name, (kind, config, zone) in RULES.items():
        assert timetables.build(kind, config, zone, schedule_id=name).next(WINDOWS[0]) is not None, name
