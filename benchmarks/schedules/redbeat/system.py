"""celery-redbeat on the same Valkey."""

from __future__ import annotations

from benchmarks.schedules.redbeat.app_settings import LOOP_SECONDS
from benchmarks.systems.base import System, python


class RedBeat(System):
    name = "redbeat"
    schema = "redbeat"
    client = "benchmarks.schedules.redbeat.client"
    needs = ("celery", "redbeat")
    settings = (
        f"RedBeatScheduler, interval entries; it looks at least every {LOOP_SECONDS} s (as shipped: 300 s)"
    )
    database = False

    def workers(self) -> list[list[str]]:
        return [
            python(
                *("celery", "-A", "benchmarks.schedules.redbeat.app", "--quiet", "beat"),
                *("-S", "redbeat.RedBeatScheduler"),
            )
        ]
