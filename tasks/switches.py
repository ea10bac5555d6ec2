"""Suspending and resuming, and the states of tenants: what may start at all. Each is audited."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from jobsplatform.kernel import audit, clock, events
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.db import retry_deadlocks
from jobsplatform.kernel.errors import InvalidInput, UnknownName
from jobsplatform.kernel.models import Process, Tenant
from tasks import admission, hints, limits, registry, transitions
from tasks.events import CancelRequested, SuspensionChanged
from tasks.models import DispatchLock, Job, Suspension
from tasks.requests import instant, text
from tasks.states import CancelReason, Hold, State

_BATCH = 500


def _target(scope: str, target: str) -> str:
    """The stored target. Raises UnknownName, InvalidInput."""
    if scope not in Suspension.Scope.values:
        raise UnknownName("scope", scope, Suspension.Scope.values)
    target = text(target, "target", 300)
    if scope == Suspension.Scope.ALL:
        if target:
            raise InvalidInput(f"Scope 'all' takes no target, got {target!r}.")
        return ""
    if scope == Suspension.Scope.TYPE:
        key = target if ":" in target else f":{target}"
        known = registry.keys()
        if key not in known and not Job.objects.filter(handler_key=key).exists():
            raise UnknownName("job type", registry.shown(key), [registry.shown(k) for k in known])
        return key
    if scope == Suspension.Scope.QUEUE and not target:
        raise InvalidInput("Scope 'queue' needs the name of a queue.")
    return target


def _jobs_of(scope: str, target: str) -> QuerySet[Job]:
    rows = Job.objects.all()
    if scope == Suspension.Scope.QUEUE:
        return rows.filter(queue=target)
    if scope == Suspension.Scope.TYPE:
        return rows.filter(handler_key=target)
    return rows.filter(app_id=target) if scope == Suspension.Scope.APP else rows


@retry_deadlocks
def suspend(
    scope: str,
    target: str = "",
    *,
    actor: Actor,
    reason: str = "",
    expires_at: datetime | None = None,
    interrupt: bool = False,
    now: datetime | None = None,
) -> Suspension:
    """From the return of this call on nothing of the scope starts, until ``unsuspend`` or ``expires_at``.

    ``scope``: all, app, type, queue. ``interrupt``: running jobs are asked to stop and go back to pending with
    their checkpoint; else they go on. Suspending what is suspended changes its reason, author and expiry.
    Raises UnknownName, InvalidInput.
    """
    now = now or clock.now()
    target = _target(scope, target)
    expires_at = instant(expires_at, "expires_at")
    if expires_at is not None and expires_at <= now:
        raise InvalidInput(f"expires_at: {expires_at.isoformat()} is not in the future.")
    reason = text(reason, "reason", 500)
    with transaction.atomic():
        # With every queue's lock row in hand no round is under way that has not seen this suspension.
        limits.take(map(limits.queue_lock, queue_names()))
        expired = Suspension.objects.filter(scope=scope, target=target, lifted_at=None, expires_at__lte=now)
        for old in expired:
            Suspension.objects.filter(id=old.id).update(lifted_at=old.expires_at, lifted_by="expiry")
        standing = Suspension.objects.filter(scope=scope, target=target, lifted_at=None).first()
        before = _as_audited(standing) if standing is not None else None
        row, _made = Suspension.objects.update_or_create(
            scope=scope,
            target=target,
            lifted_at=None,
            defaults={
                "reason": reason,
                "author": actor.name[:150],
                "expires_at": expires_at,
                "interrupt": interrupt,
            },
            create_defaults={
                "reason": reason,
                "author": actor.name[:150],
                "expires_at": expires_at,
                "interrupt": interrupt,
                "created_at": now,
            },
        )
        for job in _jobs_of(scope, target).filter(state=State.DISPATCHED).order_by("id"):
            transitions.hand_back(job.id, job.lease, "suspended", now)
        if interrupt:
            _interrupt(scope, target, now)
        audit.record("suspend", scope, target or "all", actor=actor, before=before, after=_as_audited(row))
        events.emit(SuspensionChanged(scope, target, True, actor.name, reason))
    return row


def _as_audited(row: Suspension) -> dict[str, object]:
    return {
        "author": row.author,
        "reason": row.reason,
        "interrupt": row.interrupt,
        "expires_at": row.expires_at.isoformat() if row.expires_at else None,
    }


def _interrupt(scope: str, target: str, now: datetime) -> None:
    for job in _jobs_of(scope, target).filter(state=State.RUNNING).order_by("id"):
        if transitions.ask_to_stop(job.id, CancelReason.SUSPENDED, now):
            events.emit(CancelRequested(job.id, job.handler_key, CancelReason.SUSPENDED))


def unsuspend(scope: str, target: str = "", *, actor: Actor, now: datetime | None = None) -> Suspension:
    """Lift a suspension; its jobs start again, a few at a time. Raises UnknownName when nothing is suspended so."""
    now = now or clock.now()
    # A type that this release does not know any more, or a queue that nothing serves, can be suspended still.
    if scope == Suspension.Scope.TYPE and ":" not in target:
        target = f":{target}"
    with transaction.atomic():
        open_ones = Suspension.objects.filter(lifted_at=None).filter(
            Q(expires_at=None) | Q(expires_at__gt=now)
        )
        row = open_ones.select_for_update().filter(scope=scope, target=target).first()
        if row is None:
            shown = [f"{s.scope} {registry.shown(s.target)}".strip() for s in open_ones]
            raise UnknownName("suspension", f"{scope} {registry.shown(target)}".strip(), shown)
        row.lifted_at, row.lifted_by, row.released = now, actor.name[:150], 0
        row.save(update_fields=["lifted_at", "lifted_by", "released"])
        audit.record("unsuspend", scope, target or "all", actor=actor, before=_as_audited(row))
        events.emit(SuspensionChanged(scope, target, False, actor.name))
        hints.wake()
    return row


def set_tenant_state(tenant_id: str, state: str, *, actor: Actor, now: datetime | None = None) -> Tenant:
    """Put a tenant into a state (made when not known): suspended and archived ones start nothing; their running
    jobs go on. Raises UnknownName, InvalidInput."""
    now = now or clock.now()
    if state not in Tenant.State.values:
        raise UnknownName("tenant state", state, Tenant.State.values)
    tenant_id = text(tenant_id, "tenant_id", 100)
    if not tenant_id:
        raise InvalidInput("tenant_id: the global tenant (empty) has no state; suspend 'all' instead.")
    with transaction.atomic():
        tenant, _made = Tenant.objects.select_for_update().get_or_create(tenant_id=tenant_id)
        before, tenant.state = tenant.state, state
        tenant.save(update_fields=["state"])
        audit.record(
            "tenant.state", "tenant", tenant_id, actor=actor, before={"state": before}, after={"state": state}
        )
    jobs = Job.objects.filter(tenant_id=tenant_id)
    if state == Tenant.State.ACTIVE:
        _in_batches(jobs.filter(state=State.PENDING, hold=Hold.TENANT), Hold.TENANT, now, back=True)
        admission.sweep(now)
    else:
        for job in jobs.filter(state=State.DISPATCHED).order_by("id"):
            transitions.hand_back(job.id, job.lease, "tenant not active", now)
        _in_batches(jobs.filter(state=State.PENDING, hold=Hold.NONE), Hold.TENANT, now, back=False)
    hints.wake()
    return tenant


def _in_batches(rows: QuerySet[Job], why: Hold, now: datetime, *, back: bool) -> None:
    move = transitions.unhold if back else transitions.hold
    while ids := list(rows.order_by("id").values_list("id", flat=True)[:_BATCH]):
        if not move(ids, why, now):
            return


def queue_names() -> list[str]:
    """Every queue that a process serves or that was ever dispatched from. A worker registers before it claims."""
    rows = DispatchLock.objects.filter(name__startswith=limits.queue_lock(""))
    names = {name.removeprefix(limits.queue_lock("")) for name in rows.values_list("name", flat=True)}
    for queues in Process.objects.filter(stopped_at=None, lost_at=None).values_list("queues", flat=True):
        names.update(queues)
    return sorted(names)
