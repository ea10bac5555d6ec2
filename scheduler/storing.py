"""Writes of a schedule's row and of what follows from it, in one transaction each, audited.

The verbs of people are in ``scheduler.control``, the code's in ``scheduler.sync``; both come here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from jobsplatform.kernel import audit, events
from jobsplatform.kernel.audit import Actor
from scheduler import cursors, faults, looking, parking, planner, wakeups
from scheduler.definition import RULE
from scheduler.errors import ScheduleArchived, ScheduleExists, ScheduleNotFound
from scheduler.events import ScheduleChanged
from scheduler.models import Pause, Schedule, ScheduleState
from scheduler.states import Audience, PauseScope

AUDIENCE = ("audience", "tenants")


def lock(schedule_id: str) -> Schedule:
    """The row, held until the transaction ends together with its states: nobody plans it meanwhile.

    Raises ScheduleNotFound.
    """
    parking.lock(PauseScope.SCHEDULE, schedule_id)
    row = Schedule.objects.select_for_update().filter(id=schedule_id).first()
    if row is None:
        raise ScheduleNotFound(schedule_id, Schedule.objects.values_list("id", flat=True)[:1000])
    return row


def refuse_archived(row: Schedule) -> None:
    """Raises ScheduleArchived."""
    if row.archived_at is not None:
        raise ScheduleArchived(f"Schedule {row.id!r} is archived. Restore it first.", schedule_id=row.id)


def insert(wanted: Mapping[str, Any], *, source: str, module: str, actor: Actor, now: datetime) -> Schedule:
    """Store a new schedule; slots before ``now`` are not its own. Raises ScheduleExists."""
    row = Schedule(
        **wanted,
        source=source,
        module=module,
        created_at=now,
        created_by=actor.name[:150],
        edited_at=now,
        updated_at=now,
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        standing = Schedule.objects.filter(id=row.id).first()
        if standing is None:
            raise
        archived = " It is archived: restore it, or choose another id." if standing.archived_at else ""
        raise ScheduleExists(
            f"There is a schedule {row.id!r} already.{archived}", schedule_id=row.id
        ) from None
    cursors.ensure(row, now)
    looking.ahead(row, now)
    cursors.applied([row.id])
    told(row, "created", actor, before=None, after=as_audited(row, wanted), now=now)
    return row


def change(row: Schedule, wanted: Mapping[str, Any], *, actor: Actor, now: datetime) -> set[str]:
    """Make ``row`` (locked by the caller) what is wanted; the columns that changed, none when it is that already.

    When its rule or its audience changes, slots up to ``now`` are decided first, as it was; a new rule's slots are
    those after ``now``. Any other change moves no cursor.
    """
    changed = {column for column, value in wanted.items() if not _same(getattr(row, column), value)}
    if not changed:
        return changed
    before = as_audited(row, changed)
    rule, audience = not changed.isdisjoint(RULE), not changed.isdisjoint(AUDIENCE)
    if rule or audience:
        settle(row.id, now)
        row.refresh_from_db(
            fields=["revision", "edited_at"]
        )  # it may have been edited outside, which is told now
    for column in changed:
        setattr(row, column, wanted[column])
    row.revision += 1
    row.updated_at = now
    if rule:
        row.edited_at = now
    row.save(update_fields=[*changed, "revision", "updated_at", "edited_at"])
    faults.heal({row.id})  # the whole of it was looked at; whoever plans it may know better
    if audience:
        _change_audience(row, now)
    if rule:
        looking.begin_rule(row, now)
    looking.ahead(row, now)
    cursors.applied([row.id])
    told(row, "updated", actor, before=before, after=as_audited(row, changed), now=now)
    return changed


def _same(one: object, other: object) -> bool:
    """Whether two values of a column are one; in JSON, 1 and true are two."""
    if isinstance(one, (dict, list)):
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    return one == other


def settle(schedule_id: str, now: datetime) -> None:
    """Decide every slot up to ``now`` by the rule as it stands. The caller holds the states."""
    planner.step(now, only=(schedule_id, None), settle=True)


def _change_audience(row: Schedule, now: datetime) -> None:
    if row.audience == Audience.EVERY:
        ScheduleState.objects.filter(schedule=row, tenant_id="").delete()
    cursors.ensure(row, now)


def archive(row: Schedule, *, actor: Actor, now: datetime) -> None:
    """Let ``row`` (locked by the caller) plan nothing more; what it did stays to be read."""
    settle(row.id, now)
    row.archived_at = row.updated_at = now
    row.revision += 1
    row.save(update_fields=["archived_at", "updated_at", "revision"])
    ScheduleState.objects.filter(schedule=row).update(next_due_at=None, next_slot_at=None)
    cursors.applied([row.id])
    told(row, "archived", actor, before={"archived": False}, after={"archived": True}, now=now)


def restore(row: Schedule, *, actor: Actor, now: datetime) -> None:
    """Let ``row`` (locked by the caller) plan again, from ``now`` on."""
    row.archived_at = None
    row.updated_at = row.edited_at = now
    row.revision += 1
    row.save(update_fields=["archived_at", "updated_at", "edited_at", "revision"])
    cursors.ensure(row, now)
    looking.begin_rule(row, now)
    looking.ahead(row, now)
    cursors.applied([row.id])
    told(row, "restored", actor, before={"archived": True}, after={"archived": False}, now=now)


def delete(row: Schedule, *, actor: Actor, now: datetime) -> None:
    """Remove ``row`` (locked by the caller) and its cursors. Its trigger log stays for as long as it is kept."""
    before = as_audited(row, _STORED)
    pauses = Pause.objects.filter(scope=PauseScope.SCHEDULE, target=row.id, lifted_at=None)
    pauses.update(lifted_at=now, lifted_by=actor.name[:150])
    schedule_id, revision, source = row.id, row.revision, row.source
    row.delete()
    row.id, row.revision, row.source = schedule_id, revision, source
    told(row, "deleted", actor, before=before, after=None, now=now)


# -- telling -----------------------------------------------------------------------------------------

_STORED = tuple(
    f.name
    for f in Schedule._meta.concrete_fields
    if f.name not in {"applied", "fault", "fault_at", "created_at", "edited_at", "updated_at", "archived_at"}
)


def as_audited(row: Schedule, names: Iterable[str]) -> dict[str, Any]:
    """These columns, as JSON."""
    return {name: getattr(row, name) for name in sorted(names)}


def told(row: Schedule, what: str, actor: Actor, *, before: Any, after: Any, now: datetime) -> None:
    """Record a change of a schedule, and wake whoever plans."""
    audit.record(
        f"schedule.{what}",
        "schedule",
        row.id,
        actor=actor,
        before=before,
        after=after,
        app_id=row.app_id,
        at=now,
    )
    events.emit(ScheduleChanged(row.id, what, actor.name, row.revision, row.source))
    wakeups.wake()
