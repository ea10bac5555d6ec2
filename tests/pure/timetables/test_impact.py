"""What is told before a timetable is saved."""

from __future__ import annotations

from datetime import date

import pytest

from scheduler.timetables import TimetableError, build, clock_changes, difference
from tests.pure.timetables.moments import at, cron, interval

NOW = at("2026-01-01")


def test_the_dates_that_a_clock_change_affects_are_listed() -> None:
    found = clock_changes(cron("30 2 * * *", "Europe/Berlin"), "Europe/Berlin", NOW)
    assert [(change.day, change.kind) for change in found] == [
        (date(2026, 3, 29), "gap"), (date(2026, 10, 25), "fold"), (date(2027, 3, 28), "gap"),
        (date(2027, 10, 31), "fold"), (date(2028, 3, 26), "gap"), (date(2028, 10, 29), "fold"),
    ]  # fmt: skip
    assert found[0].times == ("02:30",) and found[0].slots == (at("2026-03-29T01:00"),)
    assert found[0].at == at("2026-03-29T01:00")
    assert "right after" in found[0].rule
    assert found[1].times == ("02:30",) and found[1].slots == (at("2026-10-25T00:30"),)
    assert "first pass" in found[1].rule


@pytest.mark.parametrize(
    ("config", "slots"),
    [
        ({"gap": "skip", "fold": "both"}, [(), ("00:30", "01:30")]),
        ({"gap": "shift", "fold": "last"}, [("01:30",), ("01:30",)]),
    ],
)
def test_what_runs_instead_is_listed_by_the_rule_that_was_chosen(
    config: dict[str, str], slots: list[tuple[str, ...]]
) -> None:
    found = clock_changes(cron("30 2 * * *", "Europe/Berlin", **config), "Europe/Berlin", NOW, years=1)
    assert [tuple(f"{slot:%H:%M}" for slot in change.slots) for change in found] == slots


def test_times_that_no_change_falls_on_are_not_listed() -> None:
    assert clock_changes(cron("30 4 * * *", "Europe/Berlin"), "Europe/Berlin", NOW) == []
    assert clock_changes(cron("30 2 * * 1-5", "Europe/Berlin"), "Europe/Berlin", NOW) == []
    assert clock_changes(cron("30 2 * * *"), "UTC", NOW) == []
    assert clock_changes(interval("Europe/Berlin", every=3600), "Europe/Berlin", NOW) == []
    assert (
        len(clock_changes(cron("30 2 * * *", "Europe/Berlin", jitter_seconds=5), "Europe/Berlin", NOW)) == 6
    )
    with pytest.raises(TimetableError):
        clock_changes(cron("30 2 * * *"), "Mars/Base", NOW)


def test_a_difference_is_what_comes_and_what_goes() -> None:
    added, removed = difference(cron("0 0,6 * * *"), cron("0 0,7 * * *"), NOW, at("2026-01-03T12:00"))
    assert added == [at(f"2026-01-0{day}T07:00") for day in (1, 2, 3)]
    assert removed == [at(f"2026-01-0{day}T06:00") for day in (1, 2, 3)]
    assert difference(cron("@daily"), cron("0 0 * * *"), NOW, at("2027-01-01")) == ([], [])
    assert difference(build("manual", {}, "UTC"), cron("@daily"), NOW, at("2026-01-02")) == (
        [at("2026-01-02")],
        [],
    )


def test_a_difference_says_nothing_about_what_it_did_not_look_at() -> None:
    added, removed = difference(cron("0 0 * * *"), interval(every=1), NOW, at("2027-01-01"), limit=10)
    assert (len(added), removed) == (10, [])
    added, removed = difference(
        interval(every=1), interval(every=1, jitter_seconds=5), NOW, at("2027-01-01"), limit=10
    )
    assert (added, removed) == ([], [])
