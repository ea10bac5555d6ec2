"""A crontab of Celery Beat as one of ours that means the same days and times, or a refusal.

They differ: Beat joins day-of-month and day-of-week by AND, cron by OR unless one of them begins with ``*``; Beat
lets ranges wrap around.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from celery.schedules import ParseException
from celery.schedules import crontab as BeatCrontab

from scheduler.importing.command_line import NotTaken

_STAR_STEP = re.compile(r"\*/([1-9]\d?)")
_WEEKS = ((1, 7), (8, 14), (15, 21), (22, 28), (29, 31))
_FULL = {
    "minute": range(60),
    "hour": range(24),
    "day_of_month": range(1, 32),
    "month_of_year": range(1, 13),
    "day_of_week": range(7),
}


@dataclass(frozen=True, slots=True)
class CeleryCron:
    """The texts of a row's five fields."""

    minute: str
    hour: str
    day_of_month: str
    month_of_year: str
    day_of_week: str

    def __str__(self) -> str:
        return " ".join(text or "*" for text in self.texts().values())

    def texts(self) -> dict[str, str]:
        """Field to text, without blanks, in the order of cron."""
        return {name: re.sub(r"\s", "", getattr(self, name)).lower() for name in _FULL}


def expression(row: CeleryCron) -> str:
    """The row in our language. Raises NotTaken for what Beat itself cannot read, and for days that only an AND says."""
    texts = row.texts()
    try:
        # It is a dictionary of sets that is wanted: Beat's own reading, not what the text looks like.
        read = BeatCrontab(**{name: text or "*" for name, text in texts.items()})
    except (ParseException, ValueError, KeyError, TypeError) as error:
        raise NotTaken(f"Beat itself cannot read {row}: {error}") from None
    sets = {name: frozenset(getattr(read, name)) for name in _FULL}
    fields = {name: _field(texts[name], sets[name], _FULL[name]) for name in _FULL}
    _join_days(fields, sets, row)
    return " ".join(fields.values())


def _field(text: str, wanted: frozenset[int], full: range) -> str:
    if wanted == set(full):
        return "*"
    step = _STAR_STEP.fullmatch(text)
    if step is not None and int(step[1]) < len(full):
        return text
    return _list(wanted)


def _list(numbers: Iterable[int]) -> str:
    """Numbers as a cron list, neighbours as ranges."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)


def _join_days(fields: dict[str, str], sets: dict[str, frozenset[int]], row: CeleryCron) -> None:
    """Say the AND of both day fields in a way that is no OR for cron. Raises NotTaken when there is none."""
    days, weekdays = sets["day_of_month"], sets["day_of_week"]
    if any(fields[name].startswith("*") for name in ("day_of_month", "day_of_week")):
        return
    weeks = [number for number, (low, high) in enumerate(_WEEKS, 1) if low in days]
    if days == {day for number in weeks for day in range(_WEEKS[number - 1][0], _WEEKS[number - 1][1] + 1)}:
        fields["day_of_month"] = "*"
        fields["day_of_week"] = ",".join(
            f"{weekday}#{week}" for weekday in sorted(weekdays) for week in weeks
        )
        return
    for name, wanted, steps in (("day_of_month", days, range(2, 31)), ("day_of_week", weekdays, range(2, 7))):
        step = next((step for step in steps if wanted == set(_FULL[name][::step])), None)
        if step is not None:
            fields[name] = f"*/{step}"
            return
    raise NotTaken(
        f"Beat runs {row} where day-of-month AND day-of-week fit; cron where one of them does. No cron line says "
        "this one: schedule one of the two day fields, and let the job look at the other."
    )
