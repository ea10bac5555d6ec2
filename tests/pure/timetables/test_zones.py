"""Zones by name, and when their clocks change."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from importlib.resources import files

import pytest

from scheduler.timetables import TimetableError, zone, zones
from scheduler.timetables.clock import clock
from scheduler.timetables.instants import floor
from scheduler.timetables.zones import known
from tests.pure.timetables.moments import at


@pytest.mark.parametrize(
    ("name", "code", "suggestion"),
    [
        ("Mars/Base", "ZONE_UNKNOWN", "'"),
        ("Europe/Berln", "ZONE_UNKNOWN", "'Europe/Berlin'"),
        ("europe/berlin", "ZONE_UNKNOWN", "'Europe/Berlin'"),
        ("Berlin", "ZONE_UNKNOWN", "'Europe/Berlin'"),
        ("New York", "ZONE_UNKNOWN", "'America/New_York'"),
        ("../../etc/passwd", "ZONE_UNKNOWN", "'Europe/Berlin'"),
        ("/etc/passwd", "ZONE_UNKNOWN", "'Europe/Berlin'"),
        ("Europe/../Europe/Berlin", "ZONE_UNKNOWN", ""),
        ("Europe", "ZONE_UNKNOWN", ""),
        ("Europe/Berlin\x00", "ZONE_UNKNOWN", ""),
        ("", "ZONE_EMPTY", "'UTC'"),
        ("  ", "ZONE_EMPTY", "'UTC'"),
        (None, "ZONE_EMPTY", "'UTC'"),
        ("x" * 101, "ZONE_LONG", "'Europe/Berlin'"),
        ("x" * 10_000, "ZONE_LONG", "'Europe/Berlin'"),
    ],
)
def test_what_is_no_zone_is_refused(name: str, code: str, suggestion: str) -> None:
    with pytest.raises(TimetableError) as refused:
        zone(name)
    error = refused.value
    assert (error.code, error.field) == (code, "timezone")
    assert suggestion in error.suggestion and error.suggestion
    assert len(error.read) <= 100


@pytest.mark.parametrize("name", ["utc", "UTC", "Utc"])
def test_utc_may_be_written_as_one_likes(name: str) -> None:
    assert zone(name).key == "UTC"


def test_no_file_is_opened_by_a_name_that_is_not_on_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    known()

    def opened(*_: object) -> None:
        raise AssertionError("a file was looked up")

    monkeypatch.setattr(zones, "_load", opened)
    for name in ("../../etc/passwd", "Europe/../../../etc/passwd", "zones", "__init__.py", "Europe"):
        with pytest.raises(TimetableError):
            zone(name)
    with pytest.raises(AssertionError):
        zone("Europe/Berlin")


def test_every_known_zone_can_be_had_from_the_package() -> None:
    assert len(known()) > 590
    for name in known():
        assert zone(name).key == name


def written(name: str) -> list[int]:
    """The changes that the zone's file lists after 1970, where what the clock shows differs."""
    data = files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    # The first part of the file is for old readers; the second has eight bytes for an instant.
    counts = struct.unpack(">6l", data[20:44])
    skipped = 44 + counts[3] * 5 + counts[4] * 6 + counts[5] + counts[2] * 8 + counts[1] + counts[0]
    number = struct.unpack(">6l", data[skipped + 20 : skipped + 44])[3]
    instants = struct.unpack(f">{number}q", data[skipped + 44 : skipped + 44 + number * 8])
    found = []
    for instant in instants:
        if 0 < instant < 2_145_916_800:
            before, after = (
                datetime.fromtimestamp(one, zone(name)).utcoffset() for one in (instant - 1, instant)
            )
            found += [instant] if before != after else []
    return found


def test_every_change_of_every_clock_is_found() -> None:
    total = 0
    for name in sorted(known()):
        expected = written(name)
        last = expected[-1] if expected else 0
        found = [change.start for change in clock(name).changes(0, last)]
        assert found == expected, name
        total += len(found)
    assert total > 15_000


def test_changes_go_on_by_the_rule_of_the_zone() -> None:
    found = clock("Europe/Berlin").changes(floor(at("2080-01-01")), floor(at("2082-01-01")))
    assert [datetime.fromtimestamp(change.start, UTC) for change in found] == [
        at("2080-03-31T01:00"), at("2080-10-27T01:00"), at("2081-03-30T01:00"), at("2081-10-26T01:00"),
    ]  # fmt: skip
    assert clock("UTC").changes(0, 10**10) == []
    assert clock("Asia/Kathmandu").changes(floor(at("2000-01-01")), floor(at("2100-01-01"))) == []


def test_a_local_time_that_comes_twice_has_two_stretches_of_utc() -> None:
    berlin = clock("Europe/Berlin")
    two = floor(at("2026-10-25T02:00"))
    assert berlin.spans(two, two + 60) == [
        (floor(at("2026-10-25T00:00")), floor(at("2026-10-25T00:01"))),
        (floor(at("2026-10-25T01:00")), floor(at("2026-10-25T01:01"))),
    ]
    assert berlin.spans(floor(at("2026-03-29T02:00")), floor(at("2026-03-29T03:00"))) == []
