"""Every choice of gap and fold, beside their definition told over local minutes with zoneinfo alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from chaos.cron.compare import ZONES
from chaos.cron.expressions import expression
from chaos.cron.minutes import matches
from scheduler.timetables import TimetableError, build
from scheduler.timetables.clock import Segment, clock
from tests.pure.timetables.moments import within

MINUTE = timedelta(minutes=1)


def defined(text: str, zone: str, gap: str, fold: str, change: Segment, days: int) -> list[datetime]:
    """The slots of so many days around a change."""
    tz, moment = clock(zone).zone, datetime.fromtimestamp(change.start, UTC)
    words, found = text.upper().split(), set()
    local = (moment - timedelta(days=days, hours=16)).replace(tzinfo=None, second=0)
    while local < (moment + timedelta(days=days, hours=16)).replace(tzinfo=None):
        local += MINUTE
        if not matches(words, local):
            continue
        first, second = (local.replace(tzinfo=tz, fold=one).astimezone(UTC) for one in (0, 1))
        if first.astimezone(tz).replace(tzinfo=None) != local:
            found |= {"at_transition": {moment}, "skip": set(), "shift": {first}}[gap]
        else:
            found |= {"first": {first}, "last": {second}, "both": {first, second}}[fold]
    return sorted(slot for slot in found if abs(slot - moment) <= timedelta(days=days))


@pytest.mark.parametrize("gap", ["at_transition", "skip", "shift"])
@pytest.mark.parametrize("fold", ["first", "last", "both"])
def test_slots_are_those_of_the_definition(gap: str, fold: str) -> None:
    rng, compared = Random(f"{gap} {fold}"), 0
    while compared < 12:
        zone = rng.choice(ZONES)
        changes = clock(zone).changes(631_152_000, 2_208_988_800)
        text, days = expression(rng), 1
        if not changes:
            continue
        change = rng.choice(changes)
        moment = datetime.fromtimestamp(change.start, UTC)
        around = clock(zone).changes(change.start - 5 * 86_400, change.start + 5 * 86_400)
        try:
            timetable = build("cron", {"cron": text, "gap": gap, "fold": fold}, zone)
        except TimetableError:
            continue
        expected = defined(text, zone, gap, fold, change, days)
        if len(around) > 1 or not expected:
            continue
        compared += 1
        start, end = moment - timedelta(days=days), moment + timedelta(days=days)
        assert within(timetable, start - timedelta(seconds=1), end) == expected, (text, zone, moment)
        assert timetable.count(start - timedelta(seconds=1), end) == len(expected)
