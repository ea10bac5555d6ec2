"""Those who hang on another job's end: aliases, the successor of a key, jobs that gave way to it."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from jobsplatform.kernel import events
from jobsplatform.kernel.db import retry_deadlocks
from tasks import registry, transitions
from tasks.events import JobMoved
from tasks.models import Job
from tasks.retention import purge_after
from tasks.states import ACTIVE, FINAL, NEVER_RAN, CancelReason, Hold, Role, State


def settle(leader: Job, now: datetime) -> None:
    """The leader of a key has just ended (in this transaction): its aliases end with it, or one takes over.

    An end by somebody's cancel, or because its time to start was wrong, is the leader's alone: its oldest live alias
    leads from here on. Any other end is everybody's. Then the waiting successor, if any, leads.
    """
    if leader.role != Role.LEADER:
        return
    if _ended_alone(leader) and (heir := _oldest_alias(leader.id)) is not None:
        transitions.promote(heir.id, now)
        transitions.rebind_aliases(leader.id, heir.id, now)
        _tell(heir, "promote", State.PENDING)
        return
    aliases = list(Job.objects.filter(leader_id=leader.id, role=Role.ALIAS, state=State.PENDING))
    if aliases:
        spec = getattr(registry.find(leader.app_id, leader.job_type), "spec", None)
        transitions.settle_aliases(leader, now, purge_after(leader, leader.state, spec))
        for alias in aliases:
            _tell(alias, "settle", leader.state, leader.reason, leader.cause)
    promote_successor(leader, now)


def _ended_alone(leader: Job) -> bool:
    return leader.state == State.CANCELLED and (
        leader.cancel_reason in (CancelReason.USER, CancelReason.SUPERSEDED) or leader.reason in NEVER_RAN
    )


def _oldest_alias(leader_id: UUID) -> Job | None:
    rows = Job.objects.filter(leader_id=leader_id, role=Role.ALIAS, state=State.PENDING)
    return rows.order_by("id").select_for_update().first()


def promote_successor(job: Job, now: datetime) -> bool:
    """The waiting successor of this job's key leads, unless somebody else does already."""
    rows = Job.objects.filter(
        tenant_id=job.tenant_id, app_id=job.app_id, job_type=job.job_type, dedupe_key=job.dedupe_key
    )
    if rows.filter(role=Role.LEADER, state__in=sorted(ACTIVE)).exists():
        return False
    heir = rows.filter(role=Role.SUCCESSOR, state=State.PENDING).order_by("id").select_for_update().first()
    if heir is None or not transitions.promote(heir.id, now):
        return False
    _tell(heir, "promote", State.PENDING)
    return True


def _tell(job: Job, move: str, state: str, reason: str = "", cause: str = "") -> None:
    events.emit(
        JobMoved(
            job.id, job.handler_key, move, state, job.lease, job.queue, reason, cause, None, job.parent_id
        )
    )


@retry_deadlocks
@transaction.atomic
def check(job_id: UUID, now: datetime) -> bool:
    """After an alias or successor was committed: did its leader end in between? Then settle it now."""
    job = Job.objects.filter(id=job_id, role__in=[Role.ALIAS, Role.SUCCESSOR], state=State.PENDING).first()
    if job is None:
        return False
    if job.role == Role.SUCCESSOR:
        return promote_successor(job, now)
    leader = Job.objects.select_for_update().filter(id=job.leader_id).first()
    if leader is not None and leader.state in ACTIVE and leader.role == Role.LEADER:
        return False
    if leader is not None and leader.state in FINAL:
        settle_or_lead(leader, job, now)
        return True
    # The leader's row is gone (purged), or leads no more: this one runs for itself, or follows who leads now.
    return _lead(job, now)


def settle_or_lead(leader: Job, alias: Job, now: datetime) -> None:
    """One alias of an ended leader: ends like it, or takes over when the leader was cancelled."""
    if _ended_alone(leader):
        _lead(alias, now)
        return
    spec = getattr(registry.find(leader.app_id, leader.job_type), "spec", None)
    transitions.settle_aliases(leader, now, purge_after(leader, leader.state, spec))
    _tell(alias, "settle", leader.state, leader.reason, leader.cause)


def _lead(alias: Job, now: datetime) -> bool:
    current = Job.objects.filter(
        tenant_id=alias.tenant_id,
        app_id=alias.app_id,
        job_type=alias.job_type,
        dedupe_key=alias.dedupe_key,
        role=Role.LEADER,
        state__in=sorted(ACTIVE),
    ).first()
    if current is not None:
        return (
            bool(transitions.rebind_aliases(alias.leader_id, current.id, now)) if alias.leader_id else False
        )
    won = transitions.promote(alias.id, now)
    if won and alias.leader_id is not None:
        transitions.rebind_aliases(alias.leader_id, alias.id, now)
    return won


def forgotten(limit: int = 500) -> list[UUID]:
    """Aliases whose leader is not active, and successors without a leader: for the sweeper."""
    leader = Job.objects.filter(id=OuterRef("leader_id"), state__in=sorted(ACTIVE), role=Role.LEADER)
    aliases = Job.objects.filter(state=State.PENDING, hold=Hold.ALIAS).filter(~Exists(leader))
    twin = Job.objects.filter(
        tenant_id=OuterRef("tenant_id"),
        app_id=OuterRef("app_id"),
        job_type=OuterRef("job_type"),
        dedupe_key=OuterRef("dedupe_key"),
        role=Role.LEADER,
        state__in=sorted(ACTIVE),
    )
    heirs = Job.objects.filter(state=State.PENDING, hold=Hold.SUCCESSOR).filter(~Exists(twin))
    return [*aliases.values_list("id", flat=True)[:limit], *heirs.values_list("id", flat=True)[:limit]]


def free_preempted(preemptor_id: UUID, now: datetime) -> int:
    """Those who gave way may be claimed again: their preemptor has started, or will never."""
    gave_way = Job.objects.filter(preempted_by=preemptor_id, state=State.PENDING, hold=Hold.PREEMPTED)
    ids = list(gave_way.values_list("id", flat=True))
    return transitions.unhold(ids, Hold.PREEMPTED, now) if ids else 0


def unhold_orphan_preempted(now: datetime) -> int:
    """The sweeper's check: gave way to a job that has started, ended or gone."""
    waiting = Job.objects.filter(id=OuterRef("preempted_by"), state__in=[State.PENDING, State.DISPATCHED])
    rows = Job.objects.filter(Q(state=State.PENDING, hold=Hold.PREEMPTED)).filter(~Exists(waiting))
    ids = list(rows.values_list("id", flat=True)[:500])
    return transitions.unhold(ids, Hold.PREEMPTED, now) if ids else 0
