"""What holds for every timetable, whatever its rule and wherever its clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.cron.compare import ZONES
from chaos.cron.expressions import expression
from scheduler.timetables import Timetable, TimetableError, build
from scheduler.timetables.clock import clock
from tests.pure.timetables.moments import at, within

SECOND = timedelta(seconds=1)
INSTANT = timedelta(microseconds=1)
LONG = timedelta(days=800)

_CHANGES = {zone: clock(zone).changes(946_684_800, 2_208_988_800) for zone in ZONES}


@st.composite
def crons(draw: st.DrawFn) -> tuple[Timetable, datetime]:
    """A cron timetable of any rule, and an instant near a change of its clock."""
    rng = Random(draw(st.integers(0, 10**9)))
    zone = draw(st.sampled_from(ZONES))
    config = {
        "cron": expression(rng),
        "gap": draw(st.sampled_from(["", "at_transition", "skip", "shift"])),
        "fold": draw(st.sampled_from(["", "first", "both", "last"])),
    }
    changes = [change.start for change in _CHANGES[zone]] or [1_700_000_000]
    near = draw(st.sampled_from(changes)) + draw(st.integers(-200_000, 100_000))
    return _built("cron", config, zone), datetime.fromtimestamp(near, UTC)


@st.composite
def others(draw: st.DrawFn) -> tuple[Timetable, datetime]:
    """An interval of seconds or months, or a cron timetable within bounds and without some dates."""
    zone = draw(st.sampled_from(ZONES))
    near = datetime.fromtimestamp(draw(st.integers(1_500_000_000, 1_900_000_000)), UTC)
    anchor = (near + timedelta(seconds=draw(st.integers(-(10**8), 10**8)))).isoformat()
    kind = draw(st.sampled_from(["seconds", "months", "bounded"]))
    if kind == "seconds":
        return _built("interval", {"every": draw(st.integers(1, 10**6)), "anchor": anchor}, zone), near
    if kind == "months":
        config = {
            "months": draw(st.integers(1, 14)),
            "anchor": anchor,
            "month_end": draw(st.sampled_from(["clamp", "skip"])),
        }
        return _built("interval", config, zone), near
    days = st.integers(-3, 40).map(lambda days: (near + timedelta(days=days)).date().isoformat())
    config = {
        "cron": draw(st.sampled_from(["17 * * * *", "*/30 1-3 * * *", "0 0 * * *", "30 2 * * 0,6"])),
        "exclude": draw(st.lists(st.one_of(days, days.map(lambda day: day[5:])), max_size=12)),
        "start": (near + timedelta(hours=draw(st.integers(-50, 50)))).isoformat(),
    }
    return _built("cron", config, zone), near


def _built(kind: str, config: dict[str, object], zone: str) -> Timetable:
    try:
        return build(kind, config, zone)
    except TimetableError as error:
        assert error.code == "CRON_NEVER"
        return build("cron", {"cron": "7 3 * * *"}, zone)


@pytest.mark.parametrize("drawn", [crons(), others()], ids=["crons", "others"])
def test_the_laws(drawn: st.SearchStrategy[tuple[Timetable, datetime]]) -> None:
    @settings(max_examples=250, deadline=None, database=None, derandomize=True)
    @given(drawn, st.randoms(use_true_random=False))
    def hold(given: tuple[Timetable, datetime], rng: Random) -> None:
        timetable, start = given
        slot, after = timetable.next(start), start
        for _ in range(6):
            if slot is None or slot > start + LONG:
                break
            # next strictly increases, in UTC and on whole seconds; previous and matches agree with it.
            assert slot > after and slot.tzinfo is UTC and slot.microsecond == 0
            assert timetable.matches(slot)
            before = timetable.previous(slot)
            assert before is None or before <= after
            assert timetable.previous(slot + SECOND) == slot
            # Every second between two slots has the same next and the same previous, and is none itself.
            for _ in range(4):
                between = min(after + (slot - after) * rng.random(), slot - INSTANT)
                assert timetable.next(between) == slot
                if after != start:
                    assert timetable.previous(between + SECOND / 2) == (
                        slot if between + SECOND / 2 > slot else after
                    )
                second = between.replace(microsecond=0)
                assert second <= after or not timetable.matches(second)
            after, slot = slot, timetable.next(slot)

    hold()


@pytest.mark.parametrize("drawn", [crons(), others()], ids=["crons", "others"])
def test_the_count_is_that_of_the_walk(drawn: st.SearchStrategy[tuple[Timetable, datetime]]) -> None:
    @settings(max_examples=150, deadline=None, database=None, derandomize=True)
    @given(drawn, st.integers(0, 200_000), st.integers(0, 86_400))
    def holds(given: tuple[Timetable, datetime], length: int, shift: int) -> None:
        timetable, start = given
        after = start + timedelta(seconds=shift)
        until = after + timedelta(seconds=length)
        if timetable.count(after, after + timedelta(seconds=60)) > 2:
            until = min(until, after + timedelta(seconds=3000))
        walked = within(timetable, after, until)
        assert timetable.count(after, until) == len(walked)
        if walked:
            assert timetable.count(walked[0], walked[-1]) == len(walked) - 1
        # Walked backwards they are the same.
        back, slot = [], timetable.previous(until + SECOND)
        while slot is not None and slot > after:
            back.append(slot)
            slot = timetable.previous(slot)
        assert back == walked[::-1]

    holds()


@pytest.mark.parametrize("zone", ["America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"])
def test_instants_are_compared_in_utc_whatever_zone_they_come_in(zone: str) -> None:
    timetable = build("cron", {"cron": "*/7 * * * *"}, zone)
    start = at("2026-10-31T12:00")
    for hours in range(0, 48, 5):
        after = start + timedelta(hours=hours)
        local = after.astimezone(clock(zone).zone)
        assert timetable.next(local) == timetable.next(after)
        assert timetable.previous(local) == timetable.previous(after)


def test_an_instant_without_a_zone_is_a_mistake_of_the_caller() -> None:
    for kind, config in (
        ("cron", {"cron": "* * * * *"}),
        ("interval", {"every": 60}),
        ("interval", {"months": 1}),
    ):
        with pytest.raises(TypeError):
            build(kind, config, "UTC").next(datetime(2026, 1, 1))
