"""What people can do to schedules. The admin and the command line call these; each is audited, in one transaction.

Pausing is in ``scheduler.pauses``, what concerns single slots and runs in ``scheduler.runs``; both are here too.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from jobsplatform.kernel import clock
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.db import retry_deadlocks
from scheduler import definition, storing
from scheduler.errors import ScheduleConflict, ScheduleInvalid, ScheduleReadOnly
from scheduler.models import Schedule
from scheduler.pauses import pause, pause_many, resume, resume_many
from scheduler.registry import registry
from scheduler.runs import run_now, skip_next, unskip
from scheduler.spec import Fault, ScheduleSpec
from scheduler.states import PauseScope, TriggerType

__all__ = [
    "archive",
    "create",
    "delete",
    "pause",
    "pause_many",
    "restore",
    "resume",
    "resume_many",
    "run_now",
    "skip_next",
    "unskip",
    "update",
]


@retry_deadlocks
@transaction.atomic
def create(spec: ScheduleSpec, *, actor: Actor, now: datetime | None = None) -> Schedule:
    """Store a new schedule. It has no slots before ``now``, but for the one of ``at`` in the past, which the misfire
    policy decides at once: ``skip`` notes it as missed, ``run_once`` runs it.

    ``enabled=False``: it begins paused. Raises ScheduleInvalid, ScheduleExists.
    """
    now = now or clock.now()
    wanted = definition.columns(spec, now=now)
    row = storing.insert(wanted, source=Schedule.Source.ADMIN, module="", actor=actor, now=now)
    if not spec.enabled:
        pause(PauseScope.SCHEDULE, row.id, actor=actor, reason="created disabled", now=now)
    return row


@retry_deadlocks
@transaction.atomic
def update(
    schedule_id: str, spec: ScheduleSpec, *, revision: int, actor: Actor, now: datetime | None = None
) -> Schedule:
    """Make a schedule what ``spec`` says. ``revision``: of the row that the editor has seen.

    A changed rule (timetable, zone, misfire policies) begins at ``now``: what was due is decided by the old one, what
    comes by the new one, at once. Other changes move nothing; saving what is stored already is no edit. Pauses stay.
    Raises ScheduleInvalid, ScheduleConflict when somebody else was faster, ScheduleReadOnly, ScheduleArchived,
    ScheduleNotFound.
    """
    now = now or clock.now()
    row = _ours(schedule_id, revision)
    storing.refuse_archived(row)
    wanted = definition.columns(spec, now=now, standing=row)
    faults = [*_same_id(row, wanted["id"]), *_not_past(row, wanted, now)]
    if faults:
        raise ScheduleInvalid(row.id, faults)
    storing.change(row, wanted, actor=actor, now=now)
    return row


def _same_id(row: Schedule, wanted: str) -> list[Fault]:
    if wanted == row.id:
        return []
    said = f"a schedule keeps its id ({row.id!r}), its history goes by it."
    return [Fault("id", "ID_CHANGED", said, "Create another schedule, and archive this one.", wanted)]


def _not_past(row: Schedule, wanted: dict[str, object], now: datetime) -> list[Fault]:
    """An edit cannot bring about a slot of the past."""
    config = wanted["trigger_config"]
    unchanged = (row.trigger_type, row.trigger_config) == (wanted["trigger_type"], config)
    if wanted["trigger_type"] != TriggerType.DATE or unchanged:
        return []
    copy = Schedule(
        id=row.id, trigger_type=TriggerType.DATE, trigger_config=config, timezone=wanted["timezone"]
    )
    if definition.timetable_of(copy).next(now) is not None:
        return []
    read = str(config["at"]) if isinstance(config, dict) else ""
    return [
        Fault(
            "at",
            "AT_PAST",
            f"{read} has passed, an edit runs nothing of the past.",
            "Use run now instead.",
            read,
        )
    ]


@retry_deadlocks
@transaction.atomic
def archive(
    schedule_id: str, *, actor: Actor, revision: int | None = None, now: datetime | None = None
) -> Schedule:
    """Take a schedule out of use; its history stays, and it can be restored. Archiving twice changes nothing.

    Raises ScheduleNotFound, ScheduleReadOnly, ScheduleConflict.
    """
    row = _ours(schedule_id, revision)
    if row.archived_at is None:
        storing.archive(row, actor=actor, now=now or clock.now())
    return row


@retry_deadlocks
@transaction.atomic
def restore(schedule_id: str, *, actor: Actor, now: datetime | None = None) -> Schedule:
    """Take an archived schedule into use again, from ``now`` on: slots in between are not missed.

    Raises ScheduleInvalid when it cannot be any more (its job type is gone), ScheduleNotFound, ScheduleReadOnly.
    """
    row = _ours(schedule_id, None)
    if row.archived_at is not None:
        faults = definition.check(definition.read(row))
        if faults:
            raise ScheduleInvalid(row.id, faults)
        storing.restore(row, actor=actor, now=now or clock.now())
    return row


@retry_deadlocks
@transaction.atomic
def delete(
    schedule_id: str, *, actor: Actor, revision: int | None = None, now: datetime | None = None
) -> None:
    """Remove a schedule. Its trigger log and its jobs stay as long as they are kept; what is due is decided first.

    One of the code can be removed once the code no longer declares it. Raises ScheduleNotFound, ScheduleReadOnly,
    ScheduleConflict.
    """
    now = now or clock.now()
    row = storing.lock(schedule_id)
    if not (row.archived_at is not None and registry.find(row.id) is None):
        _refuse_code(row)
    _agree(row, revision)
    if row.archived_at is None:
        storing.settle(row.id, now)
    storing.delete(row, actor=actor, now=now)


def _ours(schedule_id: str, revision: int | None) -> Schedule:
    row = storing.lock(schedule_id)
    _refuse_code(row)
    _agree(row, revision)
    return row


def _refuse_code(row: Schedule) -> None:
    if row.source == Schedule.Source.CODE:
        raise ScheduleReadOnly(
            f"Schedule {row.id!r} is declared in {row.module or 'code'}: change it there. It can be paused, resumed, "
            "run now, and its slots skipped.",
            schedule_id=row.id,
        )


def _agree(row: Schedule, revision: int | None) -> None:
    if revision is not None and revision != row.revision:
        raise ScheduleConflict(
            f"Schedule {row.id!r} was changed since you read it (you have revision {revision}, it is at "
            f"{row.revision}). Look at it again, then repeat your change.",
            schedule_id=row.id,
            revision=row.revision,
        )
