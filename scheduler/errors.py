"""What can be wrong with schedules; see ``jobsplatform.kernel.errors`` for the tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jobsplatform.kernel.errors import ConfigError, InvalidInput, PlatformError, did_you_mean
from scheduler.spec import Fault


class ScheduleInvalid(InvalidInput):
    """A schedule that cannot be; ``faults`` tells each field. Nothing was stored."""

    code = "SCHEDULE_INVALID"

    def __init__(self, schedule_id: str, faults: Sequence[Fault]) -> None:
        shown = schedule_id if len(schedule_id) <= 80 else schedule_id[:80] + "…"
        super().__init__(f"Schedule {shown!r}: {'; '.join(map(str, faults))}", schedule_id=schedule_id)
        self.faults = tuple(faults)


class ScheduleNotFound(InvalidInput):
    """No schedule has this id."""

    code = "SCHEDULE_NOT_FOUND"
    http_status = 404

    def __init__(self, schedule_id: str, known: Iterable[str] = ()) -> None:
        shown = schedule_id if len(schedule_id) <= 200 else schedule_id[:200] + "…"
        super().__init__(f"Unknown schedule {shown!r}.{did_you_mean(shown, known)}", schedule_id=schedule_id)


class ScheduleConflict(PlatformError):
    """The schedule was changed by somebody else since it was read; nothing was stored."""

    code = "SCHEDULE_CONFLICT"
    http_status = 409


class ScheduleExists(PlatformError):
    """The id of a new schedule is taken."""

    code = "SCHEDULE_EXISTS"
    http_status = 409


class ScheduleReadOnly(PlatformError):
    """The schedule is declared in code: it is edited there. Pausing, run now and skipping work."""

    code = "SCHEDULE_READ_ONLY"
    http_status = 409


class ScheduleArchived(PlatformError):
    """The schedule is archived: it can be read and restored, nothing else."""

    code = "SCHEDULE_ARCHIVED"
    http_status = 409


class ScheduleTriggerConflict(PlatformError):
    """The slot, or the key of a run, was used before with another job type or other params."""

    code = "SCHEDULE_TRIGGER_CONFLICT"
    http_status = 409


class DuplicateSchedule(ConfigError):
    """Two places declare one schedule id; the message names both."""

    code = "SCHEDULE_DUPLICATE"

    def __init__(self, schedule_id: str, first: str, second: str, **facts: Any) -> None:
        super().__init__(
            f"The schedule {schedule_id!r} is declared twice: at {first} and at {second}. Rename one.",
            schedule_id=schedule_id,
            first=first,
            second=second,
            **facts,
        )


class BackfillNotFound(InvalidInput):
    """No backfill has this id: never started, or its retention has passed."""

    code = "BACKFILL_NOT_FOUND"
    http_status = 404

    def __init__(self, backfill_id: object) -> None:
        super().__init__(
            f"No backfill {str(backfill_id)[:100]}. It was never started, or its retention has passed.",
            backfill_id=str(backfill_id)[:100],
        )
