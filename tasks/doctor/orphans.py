"""Rows that wait for something that will not come. Sweepers repair them; what is left is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from jobsplatform.kernel.models import Process
from tasks import admission
from tasks.doctor.finding import Finding, fault, ok, some
from tasks.models import Job
from tasks.states import ACTIVE, IN_FLIGHT, Hold, Role, State

# A move in progress, or one that the next sweep makes, is no orphan.
GRACE = timedelta(seconds=60)
_ADVICE = "A live worker repairs this within a minute; if one runs, cancel or retry them ('jobs cancel ID')."

_jobs = Job.objects.order_by()
_active = _jobs.filter(state__in=ACTIVE)


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of orphan: how it is told and how it is found."""

    name: str
    text: str
    rows: Callable[[datetime], QuerySet[Job]]


def _ownerless(_: datetime) -> QuerySet[Job]:
    owner = Process.objects.filter(id=OuterRef("worker_id"), stopped_at=None, lost_at=None)
    return _jobs.filter(~Exists(owner), state__in=IN_FLIGHT)


def _leaderless(_: datetime) -> QuerySet[Job]:
    return _jobs.filter(
        ~Exists(_active.filter(id=OuterRef("leader_id"))), state=State.PENDING, hold=Hold.ALIAS
    )


def _leaderless_successors(_: datetime) -> QuerySet[Job]:
    same = {name: OuterRef(name) for name in ("tenant_id", "app_id", "job_type", "dedupe_key")}
    leader = _active.filter(role=Role.LEADER, **same)
    return _jobs.filter(~Exists(leader), state=State.PENDING, hold=Hold.SUCCESSOR)


def _childless(_: datetime) -> QuerySet[Job]:
    open_child = _active.filter(parent_id=OuterRef("id"))
    return _jobs.filter(~Exists(open_child), state=State.WAITING, open_end=False)


def _parentless(_: datetime) -> QuerySet[Job]:
    return _active.filter(~Exists(_jobs.filter(id=OuterRef("parent_id"))), parent_id__isnull=False)


def _key_free(_: datetime) -> QuerySet[Job]:
    same = {name: OuterRef(name) for name in ("tenant_id", "app_id", "concurrency_key")}
    holders = (
        _jobs.filter(state__in=IN_FLIGHT, **same)
        .values("concurrency_key")
        .annotate(n=Count("id"))
        .values("n")
    )
    held = _jobs.filter(state=State.PENDING, hold=Hold.KEY).annotate(holders=Coalesce(Subquery(holders), 0))
    return held.filter(holders__lt=F("concurrency_limit")).filter(~Exists(_waiting_already(same)))


def _waiting_already(same: dict[str, OuterRef]) -> QuerySet[Job]:
    """A job that was let go for this key and only waits for a slot."""
    return _jobs.filter(state=State.PENDING, hold=Hold.NONE, **same)


def _overlap_free(_: datetime) -> QuerySet[Job]:
    occupant = admission.occupants().filter(overlap_key=OuterRef("overlap_key"))
    return _jobs.filter(~Exists(occupant), state=State.PENDING, hold=Hold.OVERLAP)


def _too_late(now: datetime) -> QuerySet[Job]:
    late = {"latest_start_at__lt": now - GRACE, "first_started_at__isnull": True}
    return _jobs.filter(finished_at__isnull=True, **late)


def _overdue(now: datetime) -> QuerySet[Job]:
    return _jobs.filter(state=State.PENDING, hold=Hold.LATER, due_at__lt=now - GRACE)


def _preemptor_gone(_: datetime) -> QuerySet[Job]:
    waiting = _jobs.filter(id=OuterRef("preempted_by"), state__in=[State.PENDING, State.DISPATCHED])
    return _jobs.filter(~Exists(waiting), state=State.PENDING, hold=Hold.PREEMPTED)


RULES = (
    Rule("ownerless", "dispatched or running, and their worker is gone", _ownerless),
    Rule("leaderless", "aliases of a job that has ended or is gone", _leaderless),
    Rule("successors", "successors whose leader has ended", _leaderless_successors),
    Rule("childless", "waiting for children, and none is open", _childless),
    Rule("parentless", "children of a parent that is gone", _parentless),
    Rule("key_free", "held back by a concurrency key that is free", _key_free),
    Rule("overlap_free", "held back by an overlap key that is free", _overlap_free),
    Rule("too_late", "past their latest start", _too_late),
    Rule("overdue", "held for later, and their time has come", _overdue),
    Rule("preempted", "gave way to a job that has started or is gone", _preemptor_gone),
)


def check_orphans(now: datetime) -> Iterator[Finding]:
    """Each kind of orphan that there is, with three ids."""
    found = False
    for rule in RULES:
        count, text, ids = some(rule.rows(now).filter(Q(updated_at__lt=now - GRACE)))
        if not count:
            continue
        found = True
        verb = "job is" if count == 1 else "jobs are"
        yield fault(
            "orphans", f"{text} {verb} {rule.text}: {', '.join(ids)}", _ADVICE, kind=rule.name, ids=ids
        )
    if not found:
        yield ok("orphans", "No job waits for what will not come.")
