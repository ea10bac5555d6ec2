"""Entries for somebody else's Celery Beat: each makes the bridge look at one schedule when a slot of it is due.

``entries()`` is a ``beat_schedule`` mapping. Its timetables are objects that ask ours, so they agree with the planner
on everything. See ``scheduler.export_rows`` for ``django-celery-beat``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import structlog
from celery.schedules import BaseSchedule, schedstate
from celery.utils.time import maybe_make_aware
from django.db.models import Exists, OuterRef, QuerySet

from scheduler import timetables
from scheduler.bridge import TASK_NAME
from scheduler.models import Pause, Schedule
from scheduler.states import PauseScope, TriggerType
from scheduler.timetables import Timetable, TimetableError

log = structlog.get_logger("jobsplatform.scheduler")

PREFIX = "jobsplatform: "
NAME_LENGTH = 200
"""Of an entry: django-celery-beat's column."""

REQUEST_ID_PREFIX = "beat-"
HINT_SECONDS = 60.0
"""A slot has its hint within so long; a hint that nobody took for so long tells nothing new."""

OVER_SECONDS = 86_400.0
"""When Beat asks again about a schedule that has no slot to come."""


class PlannedSchedule(BaseSchedule):
    """A Celery schedule that asks our timetable. It survives Beat's schedule file, and equals one of the same rule."""

    def __init__(
        self,
        trigger_type: str,
        config: Mapping[str, Any],
        timezone: str,
        schedule_id: str = "",
        nowfun: Any = None,
        app: Any = None,
    ) -> None:
        self.trigger_type = str(trigger_type)
        self.config = dict(config)
        self.timezone = timezone
        self.schedule_id = schedule_id
        super().__init__(nowfun=nowfun, app=app)

    def is_due(self, last_run_at: datetime) -> schedstate:
        """Whether a slot came since the last hint, and in how many seconds to ask again."""
        now = maybe_make_aware(self.now()).astimezone(UTC)
        slot = self.next_after(maybe_make_aware(last_run_at).astimezone(UTC))
        if slot is None:
            return schedstate(False, OVER_SECONDS)
        if slot > now:
            return schedstate(False, _seconds(slot - now))
        following = self.next_after(now)
        return schedstate(True, OVER_SECONDS if following is None else _seconds(following - now))

    def remaining_estimate(self, last_run_at: datetime) -> timedelta:
        """How long until the first slot after the last hint; a day when there is none."""
        slot = self.next_after(maybe_make_aware(last_run_at).astimezone(UTC))
        if slot is None:
            return timedelta(seconds=OVER_SECONDS)
        return slot - maybe_make_aware(self.now()).astimezone(UTC)

    def next_after(self, after: datetime) -> datetime | None:
        """When to hint next, strictly after ``after`` (UTC); None for never."""
        if self.config.get("from") == "last_end":
            # When the last job ended, Beat does not know: the bridge is asked often enough.
            return after + timedelta(seconds=min(HINT_SECONDS, float(self.config["every"])))
        return self.timetable.next(after)

    @property
    def timetable(self) -> Timetable:
        """The rule. Raises TimetableError, for a zone that this machine does not know."""
        return timetables.build(self.trigger_type, self.config, self.timezone, schedule_id=self.schedule_id)

    def _rule(self) -> tuple[str, dict[str, Any], str, str]:
        return self.trigger_type, self.config, self.timezone, self.schedule_id

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._rule()

    def __eq__(self, other: object) -> bool:
        return self._rule() == other._rule() if isinstance(other, PlannedSchedule) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.trigger_type, self.timezone, self.schedule_id))

    def __repr__(self) -> str:
        return f"<planned: {self.schedule_id} {self.timetable.expression} {self.timezone}>"


def entries() -> dict[str, dict[str, Any]]:
    """A ``beat_schedule`` mapping of every schedule that may become due by itself, by name.

    Archived and paused schedules are left out, and those whose timetable cannot be built; an edit makes another entry
    of the same name.
    """
    return {
        entry_name(row.pk): {
            "task": TASK_NAME,
            "schedule": PlannedSchedule(row.trigger_type, row.trigger_config, row.timezone, row.pk),
            "args": (),
            "kwargs": entry_kwargs(row.pk),
            "options": {"expires": HINT_SECONDS},
        }
        for row in exported()
    }


def entry_name(schedule_id: str) -> str:
    """The entry of a schedule; ids may be any Unicode text, and one that is too long is cut and made unique."""
    name = PREFIX + schedule_id
    if len(name) <= NAME_LENGTH:
        return name
    digest = sha256(schedule_id.encode()).hexdigest()[:16]
    return f"{name[: NAME_LENGTH - len(digest) - 1]}~{digest}"


def entry_kwargs(schedule_id: str) -> dict[str, str]:
    """What the message says: an empty ``tenant_id`` is every tenant that the schedule plans for."""
    return {"schedule_id": schedule_id, "tenant_id": "", "request_id_prefix": REQUEST_ID_PREFIX}


def candidates() -> QuerySet[Schedule]:
    """Schedules that may become due by themselves."""
    paused = Pause.objects.filter(scope=PauseScope.SCHEDULE, target=OuterRef("pk"), lifted_at=None)
    return (
        Schedule.objects.filter(archived_at=None)
        .exclude(trigger_type=TriggerType.MANUAL)
        .exclude(Exists(paused))
        .order_by("pk")
    )


def exported() -> Iterator[Schedule]:
    """``candidates`` whose timetable can be built; the planner tells what is wrong with the others."""
    columns = ("id", "trigger_type", "trigger_config", "timezone")
    for row in candidates().only(*columns).iterator(chunk_size=1000):
        try:
            timetables.build(row.trigger_type, row.trigger_config, row.timezone, schedule_id=row.pk)
        except TimetableError as error:
            log.warning("scheduler.export", text=f"{row.pk} is not exported: {error}")
            continue
        yield row


def _seconds(length: timedelta) -> float:
    return max(0.0, length.total_seconds())
