"""docs/timetables.md says what is so."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

import pytest

from scheduler.timetables import build, normalise, zone
from scheduler.timetables.cron import ALIASES
from tests.pure.docs.pages import ROOT, page, rows, section
from tests.pure.timetables.moments import at, cron, within

PAGE = page("timetables.md")


def cells(heading: str, columns: int) -> list[list[str]]:
    return [
        [cell.strip().strip("`") for cell in row]
        for row in rows(section(PAGE, heading))
        if len(row) == columns
    ]


def test_every_code_is_told_and_no_other() -> None:
    source = "".join(path.read_text() for path in (ROOT / "scheduler" / "timetables").glob("*.py"))
    raised = set(
        re.findall(r'"((?:CRON|INTERVAL|TIME|EXCLUDE|ZONE|CONFIG)_[A-Z]+|BOUNDS|TRIGGER_TYPE)"', source)
    )
    assert {row[0] for row in cells("What is refused", 2)} == raised


def test_every_alias_is_told() -> None:
    assert set(re.findall(r"`(@[a-z]+)`", section(PAGE, "Cron"))) == set(ALIASES)


def test_every_key_is_told() -> None:
    assert {row[0] for row in cells("Interval", 2)} == {"every", "months", "month_end", "anchor", "from"}
    told = {key for row in cells("Around each of them", 2) for key in re.findall(r"[a-z_]+", row[0])}
    assert told == {"start", "end", "exclude", "jitter_seconds", "max_runs", "misfire_limit"}


def slots(config: dict[str, str], day: date) -> list[str]:
    berlin = zone("Europe/Berlin")
    start = datetime(day.year, day.month, day.day, tzinfo=berlin)
    end = start.replace(hour=23, minute=59)
    found = within(build("cron", config, "Europe/Berlin"), start - timedelta(seconds=1), end)
    return [
        slot.astimezone(berlin).isoformat()[11:16] + slot.astimezone(berlin).isoformat()[19:]
        for slot in found
    ]


EXAMPLES = cells("When the clocks change", 5)


@pytest.mark.parametrize(("text", "gap", "fold", "spring", "autumn"), EXAMPLES)
def test_the_examples_of_clock_changes_are_so(
    text: str, gap: str, fold: str, spring: str, autumn: str
) -> None:
    config = {"cron": text, "gap": gap, "fold": fold}
    assert slots(config, date(2026, 3, 29)) == ([] if spring == "none" else spring.split(", "))
    assert slots(config, date(2026, 10, 25)) == autumn.split(", ")


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 6


def test_the_lengths_that_are_shown_can_be_read() -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith("| `every` |"))
    lengths = re.findall(r"`([^`]+)`", row)[1:]
    assert len(lengths) > 5
    for length in lengths:
        normalise("interval", {"every": length}, "UTC")


def test_what_is_said_of_others_is_so_here() -> None:
    assert cron("5-5 0 * * *").count(at("2026-01-01"), at("2026-01-02")) == 1
    assert cron("0 0 * * 1/2").expression == "0 0 * * 1-6/2"
    # A whole day was left out, and its run is made up at the beginning of the next.
    assert within(cron("0 12 * * *", "Pacific/Apia"), at("2011-12-30T00:00"), at("2011-12-31T12:00")) == [
        at("2011-12-30T10:00"), at("2011-12-30T22:00"),
    ]  # fmt: skip
