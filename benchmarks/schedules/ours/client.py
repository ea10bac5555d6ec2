"""Stores schedules of ours: a few by the platform's own call, the rest as copies that the database makes."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta

import django

from benchmarks.schedules.client import ScheduleClient
from benchmarks.schedules.ours.system import STORED

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jobsplatform.settings")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from benchmarks.systems.ours import jobs  # noqa: E402
from jobsplatform.kernel.audit import Actor  # noqa: E402
from scheduler import control  # noqa: E402
from scheduler.models import Schedule, ScheduleState  # noqa: E402
from scheduler.spec import ScheduleSpec  # noqa: E402

BENCH = Actor.system("bench")
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo")
KINDS = 40
LATE_IN_A_SECOND = 0.97
"""Slots lie at whole seconds: an edit that is made so late in one is due at once."""


class OurClient(ScheduleClient):
    """Ids: ``stored-…`` are not due, ``bench-…`` are measured."""

    def prepare(self) -> None:
        call_command("migrate", verbosity=0, interactive=False)
        stored = int(os.environ[STORED])
        for kind in range(KINDS if stored else 0):
            count = stored // KINDS + (kind < stored % KINDS)
            self._store(_far(kind), count)
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")

    def arm(self, count: int, at: float, period: int) -> None:
        anchor = datetime.fromtimestamp(at, UTC)
        self._store(_spec("bench-0", every=period, anchor=anchor), count)

    def edit(self, number: int) -> float:
        schedule_id = f"bench-edit-{number}"
        time.sleep((LATE_IN_A_SECOND - time.time()) % 1)
        now = datetime.now(UTC)
        spec = _spec(schedule_id, at=now.replace(microsecond=0) + timedelta(seconds=1))
        control.update(schedule_id, spec, revision=1, actor=BENCH, now=now)
        return time.time()

    def editable(self, count: int) -> None:
        """Store schedules for ``edit``."""
        for number in range(count):
            spec = _spec(f"bench-edit-{number}", at=datetime.now(UTC) + timedelta(days=30))
            control.create(spec, actor=BENCH)

    def _store(self, spec: ScheduleSpec, count: int) -> None:
        """``count`` schedules like ``spec``, itself among them."""
        if count:
            control.create(spec, actor=BENCH)
            for model, key, left_out in ((Schedule, "id", ""), (ScheduleState, "schedule_id", "id")):
                columns = [f.column for f in model._meta.concrete_fields if f.column != left_out]
                selected = ", ".join("%s || '-' || n" if c == key else f'"{c}"' for c in columns)
                names = ", ".join(f'"{column}"' for column in columns)
                with connection.cursor() as cursor:
                    cursor.execute(
                        f"INSERT INTO {model._meta.db_table} ({names}) SELECT {selected} "
                        f"FROM {model._meta.db_table}, generate_series(1, %s) n WHERE {key} = %s",
                        [spec.id, count - 1, spec.id],
                    )


def _spec(schedule_id: str, **when: object) -> ScheduleSpec:
    return ScheduleSpec(
        id=schedule_id,
        job=jobs.noop.spec.job_type,
        params={"number": 0},
        misfire="run_once",
        **when,  # type: ignore[arg-type]
    )


def _far(kind: int) -> ScheduleSpec:
    """Cron lines and intervals that come due in some days at the earliest."""
    now = datetime.now(UTC)
    if kind % 4 == 0:
        return _spec(f"stored-{kind}", every=7 * 86_400, anchor=now + timedelta(days=2, minutes=kind))
    day = now + timedelta(days=40)
    line = f"{kind} {kind % 24} {1 + kind % 27} {day.month} *"
    return _spec(f"stored-{kind}", cron=line, timezone=ZONES[kind % len(ZONES)])


def make() -> OurClient:
    return OurClient()
