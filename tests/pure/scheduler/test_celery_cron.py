"""Crontabs of Celery Beat in our language: the same days, or a refusal; never more, never fewer."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from celery.schedules import crontab

from scheduler.importing.celery_cron import CeleryCron, expression
from scheduler.importing.command_line import NotTaken
from scheduler.timetables import build


def row(text: str) -> CeleryCron:
    return CeleryCron(*text.split())


@pytest.mark.parametrize(
    ("beat", "ours"),
    [
        ("0 9 * * *", "0 9 * * *"),
        ("*/5 * * * *", "*/5 * * * *"),
        ("0 9 * * mon-fri", "0 9 * * 1-5"),
        ("0 9 * * sunday", "0 9 * * 0"),
        ("0 22-2 * * *", "0 0-2,22-23 * * *"),
        ("*/90 * * * *", "0 * * * *"),
        ("0-59 * 1-31 * *", "* * * * *"),
        ("0 9 1,15 * *", "0 9 1,15 * *"),
        ("0 9 1-7 * 1", "0 9 * * 1#1"),
        ("0 9 8-14,22-28 * 1,5", "0 9 * * 1#2,1#4,5#2,5#4"),
        ("0 9 29-31 * 5", "0 9 * * 5#5"),
        ("0 0 */2 * 1", "0 0 */2 * 1"),
        ("0 0 1,16,31 * 1", "0 0 */15 * 1"),
        ("0 0 13 * */2", "0 0 13 * */2"),
        ("0 0 2,9 * 0,4", "0 0 2,9 * */4"),
    ],
)
def test_the_same_days_and_times(beat, ours):
    assert expression(row(beat)) == ours
    assert list(days_of(ours)) == list(days_of_beat(beat))


def days_of(text: str, first: datetime = datetime(2026, 1, 1, tzinfo=UTC), days: int = 800):
    """The dates in our calendar, by its own words."""
    timetable = build("cron", {"cron": text}, "UTC")
    for number in range(days):
        day = first + timedelta(days=number)
        if timetable.count(day - timedelta(seconds=1), day + timedelta(days=1, seconds=-1)):
            yield day.date()


def days_of_beat(text: str, first: datetime = datetime(2026, 1, 1, tzinfo=UTC), days: int = 800):
    """The dates of Beat: all of its fields fit."""
    minute, hour, day_of_month, month, weekday = text.split()
    beat = crontab(minute, hour, weekday, day_of_month, month)
    for number in range(days):
        day = first + timedelta(days=number)
        fits = (
            day.day in beat.day_of_month
            and day.month in beat.month_of_year
            and day.isoweekday() % 7 in beat.day_of_week
        )
        if fits:
            yield day.date()


@pytest.mark.parametrize("text", ["0 0 13 * 5", "0 9 1 * 1", "0 0 1-8 * 1", "0 0 10-20 * 1-5"])
def test_days_that_only_an_and_can_say_are_refused_and_not_widened(text):
    with pytest.raises(NotTaken, match="AND"):
        expression(row(text))


@pytest.mark.parametrize(
    "text", ["5/15 * * * *", "0 0 * * 7", "61 * * * *", "x * * * *", "0 0 0 * *", "*/0 * * * *"]
)
def test_what_beat_itself_cannot_read_is_refused(text):
    with pytest.raises(NotTaken, match="Beat itself"):
        expression(row(text))


@pytest.mark.parametrize("seed", range(60))
def test_any_two_day_fields_are_the_same_days_or_refused(seed):
    dice = Random(seed)
    days = dice.choice(["*", "*/2", "*/3", "*/7", "1-7", "8-14", "1-7,15-21", "29-31", "1-31"])
    if dice.random() < 0.5:
        days = ",".join(map(str, sorted(dice.sample(range(1, 32), dice.randint(1, 4)))))
    weekdays = dice.choice(["*", "*/2", "*/3", "1-5", "sat,sun", "0-6"])
    if dice.random() < 0.5:
        weekdays = ",".join(map(str, sorted(dice.sample(range(7), dice.randint(1, 3)))))
    text = f"0 9 {days} * {weekdays}"
    try:
        ours = expression(row(text))
    except NotTaken as reason:
        assert "AND" in str(reason)
        assert "*" not in (days, weekdays)
    else:
        assert list(days_of(ours, days=400)) == list(days_of_beat(text, days=400))


def test_blanks_and_empty_fields():
    assert expression(CeleryCron("0, 30", "", "1, 15", "*", "")) == "0,30 * 1,15 * *"
