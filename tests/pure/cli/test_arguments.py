"""Times, lengths, priorities, counts and ids as people type them."""

from datetime import UTC, datetime, timedelta

import pytest

from jobsplatform.kernel import config
from jobsplatform.kernel.errors import InvalidInput
from tasks.cli import arguments
from tasks.states import State

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("5m", 300),
        ("1h30m", 5400),
        ("7d", 604_800),
        ("2w", 1_209_600),
        ("1.5h", 5400),
        ("250ms", 0.25),
        ("10 minutes", 600),
        ("0", 0),
    ],
)
def test_a_length_of_time_is_read(text, seconds):
    assert arguments.seconds(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "soon", "-5", "5 5", "m5", "nan", "inf", "1e9d", "11000000d", "9" * 400 + "d"]
)
def test_what_is_no_length_of_time_is_refused(text):
    with pytest.raises(InvalidInput):
        arguments.seconds(text)


def test_an_unknown_unit_names_the_nearest():
    with pytest.raises(InvalidInput, match="Did you mean 'hours'"):
        arguments.seconds("3 houres")


@pytest.mark.parametrize(
    ("text", "past", "expected"),
    [
        ("now", False, NOW),
        ("+5m", False, NOW + timedelta(minutes=5)),
        ("5m", False, NOW + timedelta(minutes=5)),
        ("in 5m", True, NOW + timedelta(minutes=5)),
        ("5m", True, NOW - timedelta(minutes=5)),
        ("-5m", False, NOW - timedelta(minutes=5)),
        ("2 hours ago", False, NOW - timedelta(hours=2)),
        ("2026-03-02T10:00:00Z", False, datetime(2026, 3, 2, 10, tzinfo=UTC)),
        ("2026-03-02T10:00:00+02:00", False, datetime(2026, 3, 2, 8, tzinfo=UTC)),
    ],
)
def test_an_instant_is_read(text, past, expected):
    assert arguments.instant(text, NOW, past=past) == expected


def test_a_time_without_a_zone_is_in_the_configured_one():
    with config.override(time_zone="Europe/Berlin"):
        assert arguments.instant("2026-07-01T12:00", NOW) == datetime(2026, 7, 1, 10, tzinfo=UTC)
        assert arguments.instant("2026-07-01", NOW) == datetime(2026, 6, 30, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday-ish",
        "2026-13-01",
        "2026-02-30",
        "25:00",
        "0001-01-01T00:00+14:00",
        "+",
        "+ago",
        "99999",
    ],
)
def test_what_is_no_time_is_refused_with_an_example(text):
    with pytest.raises(InvalidInput, match=r"Expected e\.g\.|cannot be stored|outside"):
        arguments.instant(text, NOW)


@pytest.mark.parametrize(
    ("text", "value"),
    [("normal", 100), ("USER_ACTION", 1000), ("user-action", 1000), ("0", 0), ("9999", 9999)],
)
def test_a_priority_is_a_name_or_a_number(text, value):
    assert arguments.priority(text) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [("urgnt", "Did you mean 'urgent'"), ("10000", "0 to 9999"), ("-1", "0 to 9999"), ("9" * 5000, "0 to")],
)
def test_a_wrong_priority_says_what_is_known(text, words):
    with pytest.raises(InvalidInput, match=words):
        arguments.priority(text)


def test_a_state_is_read_and_a_wrong_one_names_the_nearest():
    read = arguments.member("state", State)
    assert read("Failed") == "failed"
    with pytest.raises(InvalidInput, match="Did you mean 'running'"):
        read("runing")


@pytest.mark.parametrize("text", ["0", "10001", "-3", "ten", "1.5"])
def test_a_wrong_count_is_refused(text):
    with pytest.raises(InvalidInput):
        arguments.count(text)


def test_a_wrong_id_says_what_one_looks_like():
    with pytest.raises(InvalidInput, match="no job id"):
        arguments.job_id("42")
