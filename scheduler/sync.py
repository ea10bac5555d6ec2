"""From the schedules that code declares to their rows.

Done when a process that plans starts, and by ``manage.py schedules sync``. Several may do it at once: each schedule is
a transaction of its own, and storing what is stored already changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.db import retry_deadlocks
from scheduler import definition, pauses, storing
from scheduler.errors import ScheduleExists
from scheduler.models import Pause, Schedule
from scheduler.registry import Declared, ScheduleRegistry, registry
from scheduler.spec import Fault
from scheduler.states import PauseScope

CODE = Actor.system("code")
"""Who pauses what is declared with ``enabled=False``, and resumes it when that is taken back."""


@dataclass(frozen=True, slots=True)
class SyncFault:
    """A declared schedule that was not stored, and why; its row, if it has one, is as it was."""

    schedule_id: str
    place: str
    fault: Fault

    def __str__(self) -> str:
        return f"{self.schedule_id} ({self.place}): {self.fault}"


@dataclass(frozen=True, slots=True)
class SyncResult:
    """The ids of each kind. ``created`` has those that were archived and are declared again, too."""

    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    archived: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    faults: tuple[SyncFault, ...] = ()


def sync(now: datetime, actor: Actor, known: ScheduleRegistry = registry) -> SyncResult:
    """Store what is declared, archive what no longer is. Pauses stay, and so does a row whose declaration is faulty.

    An id that somebody made in the admin is not taken over: that is a fault.
    """
    found: dict[str, list[str]] = {"created": [], "updated": [], "unchanged": [], "archived": []}
    faults: list[SyncFault] = []
    declared_ids = set()
    for declared in known.all():
        wrong = definition.check(declared.spec)
        if wrong:
            declared_ids.add(str(declared.id))
            faults += [SyncFault(str(declared.id), declared.place, fault) for fault in wrong]
            continue
        schedule_id = definition.columns(declared.spec, now=now)["id"]
        declared_ids.add(schedule_id)
        try:
            found[_store(declared, schedule_id, actor, now)].append(schedule_id)
        except ScheduleExists as error:
            fault = Fault("id", "ID_TAKEN", error.message, "Rename or delete one of the two.", schedule_id)
            faults.append(SyncFault(schedule_id, declared.place, fault))
    for clash in known.clashes:
        faults.append(
            SyncFault(
                str(clash.facts["schedule_id"]),
                clash.facts["second"],
                Fault("id", "DUPLICATE", clash.message),
            )
        )
    gone = Schedule.objects.filter(source=Schedule.Source.CODE, archived_at=None).exclude(id__in=declared_ids)
    for schedule_id, module in gone.order_by("id").values_list("id", "module"):
        if known.covers(module) and _archive(schedule_id, actor, now):
            found["archived"].append(schedule_id)
    return SyncResult(**{kind: tuple(ids) for kind, ids in found.items()}, faults=tuple(faults))


@retry_deadlocks
@transaction.atomic
def _store(declared: Declared, schedule_id: str, actor: Actor, now: datetime) -> str:
    module = declared.module[:200]
    if not Schedule.objects.filter(id=schedule_id).exists():
        wanted = definition.columns(declared.spec, now=now)
        try:
            storing.insert(wanted, source=Schedule.Source.CODE, module=module, actor=actor, now=now)
        except ScheduleExists:  # another process that starts was faster
            return "unchanged"
        _enable(declared, schedule_id, now)
        return "created"
    row = storing.lock(schedule_id)
    if row.source != Schedule.Source.CODE:
        raise ScheduleExists(
            f"somebody made a schedule {schedule_id!r} in the admin.", schedule_id=schedule_id
        )
    restored = row.archived_at is not None
    wanted = definition.columns(declared.spec, now=now, standing=row)
    if restored:
        storing.restore(row, actor=actor, now=now)
    changed = storing.change(row, {**wanted, "module": module}, actor=actor, now=now)
    _enable(declared, schedule_id, now)
    return "created" if restored else "updated" if changed else "unchanged"


def _enable(declared: Declared, schedule_id: str, now: datetime) -> None:
    """Follow ``enabled`` where it changes; what an operator has decided since stays."""
    rows = Pause.objects.filter(scope=PauseScope.SCHEDULE, target=schedule_id)
    last = rows.filter(author=CODE.name).order_by("-id").first()
    if declared.spec.enabled:
        if last is not None and last.lifted_at is None:
            pauses.resume(PauseScope.SCHEDULE, schedule_id, actor=CODE, now=now)
        return
    decided_otherwise = last is not None and last.lifted_by != CODE.name
    if not decided_otherwise and not rows.filter(lifted_at=None).exists():
        pauses.pause(PauseScope.SCHEDULE, schedule_id, actor=CODE, reason="declared disabled", now=now)


@retry_deadlocks
@transaction.atomic
def _archive(schedule_id: str, actor: Actor, now: datetime) -> bool:
    row = storing.lock(schedule_id)
    if row.archived_at is not None or row.source != Schedule.Source.CODE:
        return False
    storing.archive(row, actor=actor, now=now)
    return True
