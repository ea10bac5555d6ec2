"""Pausing a schedule, a tenant or everything: nothing of it fires by itself until it is lifted or expires.

A pause of a schedule or tenant parks the states it concerns (nobody looks at them); one of everything is a single
row that the planner asks for before it looks at anything. Each is audited, in the transaction of its change.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from jobsplatform.kernel import audit, clock, events
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.db import retry_deadlocks
from jobsplatform.kernel.instants import text as iso
from scheduler import parking, wakeups
from scheduler.events import PauseChanged
from scheduler.models import REASON_LENGTH, Pause
from scheduler.pause_request import expiry_of, known_target, reason_of, rule_of, scope_of, target_of
from scheduler.states import PauseScope, ResumeRule

EXPIRY = "expiry"
"""Who lifts a pause whose time is over."""


@retry_deadlocks
@transaction.atomic
def pause(
    scope: PauseScope | str,
    target: str = "",
    *,
    actor: Actor,
    reason: str = "",
    expires_at: datetime | None = None,
    resume_rule: ResumeRule | str = ResumeRule.DROP,
    now: datetime | None = None,
) -> Pause:
    """From the return of this call on nothing of the scope fires by itself, until ``resume`` or ``expires_at``.

    ``target``: a schedule's id, a tenant's, or empty for ``all``. ``resume_rule``: what becomes of the slots in
    between: ``drop`` (decided as paused) or ``misfire`` (late slots, by the schedule's own policy). Jobs that are made
    already go on. Pausing what is paused changes author, reason, expiry and rule. Raises ScheduleNotFound,
    ScheduleArchived, UnknownName, InvalidInput.
    """
    now = now or clock.now()
    scope = scope_of(scope)
    target = known_target(scope, target)
    fields = {
        "author": actor.name[:150],
        "reason": reason_of(reason),
        "expires_at": expiry_of(expires_at, now),
        "resume_rule": str(rule_of(resume_rule)),
        "automatic": False,
    }
    parking.lock(scope, target)
    _expire(Pause.objects.filter(scope=scope, target=target, expires_at__lte=now), now)
    standing = Pause.objects.filter(scope=scope, target=target, lifted_at=None).first()
    before = as_audited(standing) if standing is not None else None
    row, _made = Pause.objects.update_or_create(
        scope=scope,
        target=target,
        lifted_at=None,
        defaults=fields,
        create_defaults={**fields, "created_at": now},
    )
    parking.park(scope, target)
    told(row, "pause", actor, before=before, after=as_audited(row), now=now)
    return row


def pause_automatically(schedule_id: str, reason: str, *, by: Actor, now: datetime) -> Pause:
    """Pause a schedule because of what its jobs did; an open pause of it is left as it is, and given back.

    For a caller that holds the lock of one of its states: the states are not locked here; park them after commit.
    """
    row, made = Pause.objects.get_or_create(
        scope=PauseScope.SCHEDULE,
        target=schedule_id,
        lifted_at=None,
        defaults={
            "author": by.name,
            "reason": reason[:REASON_LENGTH],
            "automatic": True,
            "created_at": now,
        },
    )
    if made:
        told(row, "pause", by, before=None, after=as_audited(row), now=now)
    return row


@retry_deadlocks
@transaction.atomic
def resume(
    scope: PauseScope | str, target: str = "", *, actor: Actor, now: datetime | None = None
) -> Pause | None:
    """Lift a pause: what lay still is looked at once. None when nothing is paused so.

    What is also paused otherwise (its tenant, everything) goes on lying still. Raises UnknownName, InvalidInput.
    """
    now = now or clock.now()
    scope = scope_of(scope)
    target = target_of(scope, target)
    parking.lock(scope, target)
    _expire(Pause.objects.filter(scope=scope, target=target, expires_at__lte=now), now)
    row = (
        Pause.objects.select_for_update()
        .filter(scope=scope, target=target, lifted_at=None)
        .order_by("id")
        .first()
    )
    if row is None:
        return None
    _lift(row, actor, at=now, now=now)
    return row


@retry_deadlocks
@transaction.atomic
def pause_many(
    schedule_ids: Iterable[str],
    *,
    actor: Actor,
    reason: str = "",
    expires_at: datetime | None = None,
    resume_rule: ResumeRule | str = ResumeRule.DROP,
    now: datetime | None = None,
) -> list[Pause]:
    """``pause`` for each of these schedules, all or none."""
    now = now or clock.now()
    ids = sorted(set(schedule_ids))
    parking.lock_many(ids)
    return [
        pause(
            PauseScope.SCHEDULE,
            schedule_id,
            actor=actor,
            reason=reason,
            expires_at=expires_at,
            resume_rule=resume_rule,
            now=now,
        )
        for schedule_id in ids
    ]


@retry_deadlocks
@transaction.atomic
def resume_many(schedule_ids: Iterable[str], *, actor: Actor, now: datetime | None = None) -> list[Pause]:
    """``resume`` for each of these schedules, all or none; those that were paused."""
    now = now or clock.now()
    ids = sorted(set(schedule_ids))
    parking.lock_many(ids)
    lifted = [resume(PauseScope.SCHEDULE, schedule_id, actor=actor, now=now) for schedule_id in ids]
    return [row for row in lifted if row is not None]


def lift_expired(now: datetime) -> int:
    """Lift every pause whose time is over, as of that time; how many."""
    over = Pause.objects.filter(lifted_at=None, expires_at__lte=now)
    lifted = 0
    for scope, target in over.order_by("id").values_list("scope", "target"):
        lifted += _lift_one_expired(scope, target, now)
    return lifted


@retry_deadlocks
@transaction.atomic
def _lift_one_expired(scope: str, target: str, now: datetime) -> int:
    parking.lock(PauseScope(scope), target)
    return _expire(Pause.objects.filter(scope=scope, target=target, expires_at__lte=now), now)


def _expire(rows: QuerySet[Pause], now: datetime) -> int:
    over = list(rows.filter(lifted_at=None).select_for_update().order_by("id"))
    for row in over:
        assert row.expires_at is not None
        _lift(row, Actor.system(EXPIRY), at=row.expires_at, now=now)
    return len(over)


def _lift(row: Pause, actor: Actor, *, at: datetime, now: datetime) -> None:
    before = as_audited(row)
    row.lifted_at, row.lifted_by = at, actor.name[:150]
    row.save(update_fields=["lifted_at", "lifted_by"])
    parking.unpark(PauseScope(row.scope), row.target, now)
    told(row, "resume", actor, before=before, after=None, now=now)


# -- reading -----------------------------------------------------------------------------------------


def open_pauses(now: datetime) -> QuerySet[Pause]:
    """Pauses in force: neither lifted nor expired."""
    return Pause.objects.filter(lifted_at=None).filter(Q(expires_at=None) | Q(expires_at__gt=now))


def open_pause(schedule_id: str, tenant_id: str = "", now: datetime | None = None) -> Pause | None:
    """The pause that keeps this schedule (for this tenant) from firing, the widest first; None when it may."""
    concerns = Q(scope=PauseScope.ALL) | Q(scope=PauseScope.SCHEDULE, target=schedule_id)
    if tenant_id:
        concerns |= Q(scope=PauseScope.TENANT, target=tenant_id)
    rows = open_pauses(now or clock.now()).filter(concerns)
    widest = list(PauseScope)
    return min(rows, key=lambda row: widest.index(PauseScope(row.scope)), default=None)


def as_audited(row: Pause) -> dict[str, object]:
    """The facts of a pause, as JSON."""
    return {
        "author": row.author,
        "reason": row.reason,
        "automatic": row.automatic,
        "resume_rule": row.resume_rule,
        "expires_at": iso(row.expires_at) if row.expires_at else None,
    }


def told(row: Pause, action: str, actor: Actor, *, before: object, after: object, now: datetime) -> None:
    """Record a change of a pause, and wake whoever plans."""
    audit.record(
        f"{row.scope}.{action}" if row.scope != PauseScope.ALL else f"schedules.{action}",
        row.scope,
        row.target or "all",
        actor=actor,
        before=before,
        after=after,
        tenant_id=row.target if row.scope == PauseScope.TENANT else "",
        at=now,
    )
    author = row.author if action == "pause" else actor.name
    events.emit(
        PauseChanged(row.scope, row.target, action == "pause", author, row.reason, automatic=row.automatic)
    )
    wakeups.wake()
