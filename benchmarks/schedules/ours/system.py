"""JobsPlatform: its own scheduler process, on PostgreSQL and Redis, with a great many schedules stored."""

from __future__ import annotations

import sys

from benchmarks.processes import ROOT
from benchmarks.systems.base import Place, python
from benchmarks.systems.ours.system import Ours

STORED = "BENCH_STORED"


class OurScheduler(Ours):
    """``manage.py scheduler --run``. ``stored``: schedules that are not due while it is measured."""

    client = "benchmarks.schedules.ours.client"

    def __init__(self, stored: int, name: str = "ours") -> None:
        super().__init__(name)
        self.stored = stored
        self.schema = f"schedules_{stored}"
        self.settings = (
            f"manage.py scheduler --run, profile private, defaults (logs, events and checks on); "
            f"{stored:,} schedules stored that are not due"
        )

    def environment(self, place: Place) -> dict[str, str]:
        return {**super().environment(place), STORED: str(self.stored)}

    def workers(self) -> list[list[str]]:
        return [[sys.executable, str(ROOT / "manage.py"), "scheduler", "--run"]]


class OurBeat(OurScheduler):
    """Our Beat class, which hints, and one worker, which plans."""

    def __init__(self, stored: int) -> None:
        super().__init__(stored, "ours, beat and worker")
        self.settings = (
            "celery beat -S scheduler.beat:PlatformScheduler and one worker -c 2, which runs the jobs too; "
            f"{stored:,} schedules stored that are not due"
        )

    def workers(self) -> list[list[str]]:
        celery = ("celery", "-A", "jobsplatform", "--quiet")
        return [
            python(*celery, "beat", "-S", "scheduler.beat:PlatformScheduler"),
            python(*celery, "worker", "-c", "2"),
        ]
