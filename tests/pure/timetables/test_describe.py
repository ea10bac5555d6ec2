"""Timetables in English."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.timetables import build, describe


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("30 2 * * *", "At 02:30 every day"),
        ("* * * * *", "Every minute"),
        ("*/15 * * * *", "Every 15 minutes"),
        ("*/40 * * * *", "At minutes 0 and 40 of every hour"),
        ("5 * * * *", "At minute 5 of every hour"),
        ("0 9-17 * * 1-5", "At minute 0 of hours 9 to 17 on Monday to Friday"),
        ("0 0 13 * 5", "At 00:00 on day 13 of the month or on Friday"),
        ("0 0 1-31 * 5", "At 00:00 every day"),
        ("0 8 */10 * 1", "At 08:00 on days 1, 11, 21 and 31 of the month when it is Monday"),
        ("0 0 1,L * *", "At 00:00 on day 1 and the last day of the month"),
        ("0 0 * * 5L,1#2", "At 00:00 on the second Monday of the month and the last Friday of the month"),
        ("0,30 6 * 6-8,12 0,6", "At 06:00 and 06:30 on Saturday and Sunday in June to August and December"),
        ("* 3 * * 5-7", "Every minute of hour 3 on Friday to Sunday"),
    ],
)
def test_a_cron_timetable_in_words(text: str, said: str) -> None:
    assert describe(build("cron", {"cron": text}, "Europe/Berlin")) == f"{said} (Europe/Berlin)"


@pytest.mark.parametrize(
    ("kind", "config", "said"),
    [
        (
            "interval",
            {"every": "90m", "anchor": "2026-01-01T00:00:00Z"},
            "Every 1h30m, counted from 2026-01-01T00:00:00Z",
        ),
        ("interval", {"every": 60, "from": "last_end"}, "1m after each end"),
        (
            "interval",
            {"months": 1, "anchor": "2026-01-31"},
            "Every month, counted from 2026-01-31T00:00:00Z (UTC)",
        ),
        ("date", {"at": "2026-07-01T10:00Z"}, "Once, at 2026-07-01T10:00:00Z"),
        ("manual", {}, "Only when somebody runs it"),
        (
            "cron",
            {
                "cron": "@daily",
                "start": "2026-01-01",
                "end": "2027-01-01",
                "exclude": ["12-25"],
                "jitter_seconds": 90,
            },
            "At 00:00 every day (UTC), from 2026-01-01T00:00:00Z, until 2027-01-01T00:00:00Z, except on 1 date, "
            "up to 1m30s later",
        ),
    ],
)
def test_other_timetables_in_words(kind: str, config: dict[str, Any], said: str) -> None:
    assert describe(build(kind, config, "UTC")) == said
