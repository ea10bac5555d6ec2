"""Who runs next: one round of one worker's dispatcher.

A round claims for its own worker alone: as many jobs as that worker has free slots, of the queues it serves
and the types it knows. It runs in one transaction that first takes the lock row of each queue, so that slots,
reserved slots and fairness are counted exactly; the messages are sent after the commit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from jobsplatform.kernel import config, events
from jobsplatform.kernel.db import retry_deadlocks
from tasks import admission, finding, latest_start, limits, packs, registry, suspensions, transitions
from tasks.events import JobMoved
from tasks.late import is_late
from tasks.models import Job
from tasks.picker import Picker
from tasks.preempt import preempt_for
from tasks.sql import claim as sql
from tasks.sql import counts
from tasks.sql.claim import Candidate
from tasks.states import IN_FLIGHT, Hold, Priority, State

logger = logging.getLogger("jobsplatform.dispatch")

_COME_DUE_BATCH = 1000


@dataclass(frozen=True, slots=True)
class WorkerView:
    """The worker a round claims for. ``keys``: handler keys it knows; ``busy_threads``: slots occupied by runs
    that have ended on record but whose threads cannot be killed; ``lines``: slots, by queue, whose last messages are
    being worked on: short jobs may be sent there ahead of time; ``turning``: slots where others wait for their turn.
    ``sidecar``: it runs each job by itself, and may always start one, whatever slots are reserved for urgent jobs;
    ``most``: no more than so many at once, however many slots are free.
    """

    process_id: UUID
    queues: tuple[str, ...]
    keys: frozenset[str]
    concurrency: int
    busy_threads: int = 0
    lines: Sequence[tuple[str, UUID]] = ()
    turning: frozenset[UUID] = frozenset()
    sidecar: bool = False
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Claimed:
    """A job that this worker is to be sent; with ``pack``, the first of the several jobs of one message. Those with
    the same ``slot`` take turns there, in the order of their messages."""

    job_id: UUID
    lease: int
    handler_key: str
    job_type: str
    queue: str
    pack: UUID | None = None
    jobs: int = 1
    slot: UUID | None = None


@dataclass(frozen=True, slots=True)
class RoundResult:
    """What a round did. ``more``: another one at once may find more; ``waiting``: there were claimable jobs."""

    claimed: int
    resent: int
    more: bool
    waiting: bool


Send = Callable[[Claimed], None]
Together = Callable[[], AbstractContextManager[Any]]


def round(worker: WorkerView, send: Send, now: datetime, together: Together = nullcontext) -> RoundResult:
    """One round: what has come due, what was lost on the way, what may start now.

    What is sent inside ``together`` may leave at its end, which then raises when it could not.
    """
    settings = config.get().tasks
    late = now - timedelta(seconds=settings.resend_seconds)
    look = counts.look(worker.process_id, worker.queues, now, late)
    due = come_due(now) if look.due else 0
    resent = resend_lost(worker, send, now) if look.late else 0
    waiting = look.claimable or due > 0
    choice = claim(worker, now) if waiting else Choice()
    latest_start.end(choice.late, now)
    sent = _deliver_all(choice.won, send, now, together)
    more = due == _COME_DUE_BATCH or choice.parked > 0 or choice.picked >= settings.batch
    return RoundResult(sent, resent, more, waiting)


def _deliver_all(jobs: Sequence[Claimed], send: Send, now: datetime, together: Together) -> int:
    if not jobs:
        return 0
    sent: list[Claimed] = []
    try:
        with together():
            sent += [job for job in jobs if _deliver(job, send, now)]
    except Exception as error:
        for job in sent:
            _take_back(job, error, now)
        return 0
    return len(sent)


def _deliver(job: Claimed, send: Send, now: datetime) -> bool:
    try:
        send(job)
    except Exception as error:
        _take_back(job, error, now)
        return False
    return True


def _take_back(job: Claimed, error: Exception, now: datetime) -> None:
    """The broker is away: the row is the truth, so the job simply waits again."""
    if job.pack is not None:
        transitions.hand_back_pack(job.pack, "message could not be sent", now)
    if transitions.hand_back(job.job_id, job.lease, "message could not be sent", now):
        logger.warning("job %s could not be sent (%s); it waits and will be sent again", job.job_id, error)


def come_due(now: datetime) -> int:
    """Put jobs whose time has come into the claim's index."""
    rows = Job.objects.filter(state=State.PENDING, hold=Hold.LATER, due_at__lte=now).order_by("due_at")
    # In order: asked whether there is any at all, the planner reads the table.
    if not rows.values_list("due_at")[:1]:
        return 0
    with transaction.atomic():
        locked = rows.select_for_update(skip_locked=True).values_list("id", "overlap_key")
        found = dict(locked[:_COME_DUE_BATCH])
        due = transitions.unhold(found, Hold.LATER, now)
    admission.admit(found.values(), now)
    return due


def resend_lost(worker: WorkerView, send: Send, now: datetime) -> int:
    """Jobs sent to this worker that did not start in time although it has free slots: new lease, new message."""
    late = now - timedelta(seconds=config.get().tasks.resend_seconds)
    mine = Job.objects.filter(worker_id=worker.process_id, state__in=sorted(IN_FLIGHT))
    # What waits for its turn behind a run is not lost.
    found = mine.filter(state=State.DISPATCHED, dispatched_at__lte=late).order_by("dispatched_at")
    lost = [job for job in found if job.slot not in worker.turning]
    if not lost or _slots_running(mine) + worker.busy_threads >= worker.concurrency:
        return 0
    sent = 0
    for job in lost:
        if is_late(job, now):
            latest_start.end([job.id], now)
            continue
        lease = transitions.resend(job.id, job.lease, now)
        if lease is not None:
            logger.warning("job %s was sent but did not start; sent again under lease %s", job.id, lease)
            job.lease, job.pack, job.slot = lease, None, None
            sent += _deliver(_claimed(job), send, now)
    return sent


def _slots_running(mine: QuerySet[Job]) -> int:
    slots = list(mine.filter(state=State.RUNNING).values_list("slot", flat=True))
    return slots.count(None) + len({slot for slot in slots if slot is not None})


def hand_back_all(process_id: UUID, now: datetime, reason: str = "worker drained") -> int:
    """Free what was sent to this worker and not started."""
    rows = Job.objects.filter(worker_id=process_id, state=State.DISPATCHED).order_by("id")
    return sum(transitions.hand_back(job.id, job.lease, reason, now) for job in rows)


def hand_back_line(slot: UUID, now: datetime) -> int:
    """Free what waits in a slot for its turn behind a run that turned out long."""
    return transitions.hand_back_slot(slot, "behind a long run", now)


@dataclass(slots=True)
class Choice:
    """What one claim decided. ``picked``: how many starts it gave; each may have taken others along. ``late``: jobs
    that waited past their latest start, to be ended."""

    won: list[Claimed] = field(default_factory=list)
    picked: int = 0
    parked: int = 0
    late: list[UUID] = field(default_factory=list)


@retry_deadlocks
@transaction.atomic
def claim(worker: WorkerView, now: datetime) -> Choice:
    """Choose and claim what this worker may start now. Exact: see ``tasks.limits``."""
    there = [g for queue in sorted(worker.queues) for g in sql.groups(queue)]
    groups = [g for g in there if g.handler_key in worker.keys]
    if len(groups) < len(there) and not worker.sidecar:
        finding.notice(g.handler_key for g in there if g.handler_key not in worker.keys)
    if not groups:
        return Choice()
    queues = sorted({g.queue for g in groups})
    limited = {key: n for key in {g.handler_key for g in groups} if (n := type_limit(key)) is not None}
    locks = limits.take([*map(limits.queue_lock, queues), *map(limits.type_lock, limited)])
    gate = suspensions.gate(now)
    groups = [g for g in groups if not gate.closed(g.queue, g.handler_key)]
    used = limits.in_flight(worker.process_id)
    rooms = limits.rooms(queues, used.slots, now)
    if worker.sidecar:
        limits.leave_one(rooms.values(), used.mine)
    most = config.get().tasks.batch if worker.most is None else worker.most
    picker = Picker(
        free=min(most, worker.concurrency - worker.busy_threads - used.mine),
        rooms=rooms,
        gate=gate,
        now=now,
        locks={queue: locks[limits.queue_lock(queue)] for queue in queues},
        type_room={key: most - used.jobs.get(key, 0) for key, most in limited.items()},
        lines=_lines(worker),
        may_line_up=lambda job: packs.may_take_turns(job, gate),
    )
    # Where nothing can be placed only an urgent job matters: it may ask another to give way.
    reach = max(picker.free, 0) + sum(map(len, picker.lines.values()))
    found = sql.candidates([(g, _reach(g, reach, limited)) for g in groups])
    late = [job.id for job in found if job.latest_start_at is not None and job.latest_start_at < now]
    jobs = _sound([job for job in found if job.id not in late] if late else found, gate, now)
    picker.key_room = _key_room(jobs)
    picker.type_room |= _exclusive_room(jobs, picker.type_room, used.jobs)
    choice = _finish_round(worker, picker, picker.pick(jobs), now)
    choice.parked += len(found) - len(jobs)
    choice.late = late
    return choice


def _lines(worker: WorkerView) -> dict[str, list[UUID]]:
    """The slots that may be sent more, of those that still hold jobs: the others are counted as free."""
    lines: dict[str, list[UUID]] = {}
    if worker.lines:
        taken = counts.slots_of(worker.process_id)
        for queue, slot in worker.lines:
            if slot in taken:
                lines.setdefault(queue, []).append(slot)
    return lines


def type_limit(handler_key: str) -> int | None:
    """How many of this type may be in flight at once; None: no limit."""
    handler = registry.find(*handler_key.split(":", 1))
    if handler is None:
        return None
    return 1 if handler.spec.exclusive else handler.spec.max_concurrency


def _reach(group: sql.Group, free: int, limited: dict[str, int]) -> int:
    if group.priority >= Priority.USER_ACTION:
        free = max(1, free)
    return min(free, limited.get(group.handler_key, free))


def _sound(jobs: list[Candidate], gate: suspensions.Gate, now: datetime) -> list[Candidate]:
    """Set aside the jobs of tenants that are not active."""
    aside = [job.id for job in jobs if job.tenant_id in gate.asleep]
    if aside:
        transitions.hold(aside, Hold.TENANT, now)
    return [job for job in jobs if job.tenant_id not in gate.asleep]


def _exclusive_room(jobs: list[Candidate], room: dict[str, int], used: Mapping[str, int]) -> dict[str, int]:
    """Rows that call themselves exclusive though their type, as this release knows it, does not: still one at a
    time, or the database would refuse the whole round."""
    keys = {job.handler_key for job in jobs if job.exclusive}
    return {key: min(room.get(key, 1), 1 - used.get(key, 0)) for key in keys}


def _key_room(jobs: list[Candidate]) -> dict[limits.Key, int]:
    keys = {key: job.concurrency_limit for job in jobs if (key := limits.key_of(job)) is not None}
    if not keys:
        return {}
    limits.take(map(limits.key_lock, keys))
    used = limits.in_flight_of_keys(keys)
    return {key: limit - used.get(key, 0) for key, limit in keys.items()}


def _finish_round(worker: WorkerView, picker: Picker, chosen: list[Candidate], now: datetime) -> Choice:
    claimed = _claim_chosen(worker, picker, chosen, now)
    if worker.sidecar:
        turns = [packs.Turn(job) for job in claimed]
    else:
        turns = packs.fill(claimed, picker.lined_up, picker.rooms, picker.gate, now)
    # After the claim, because parking takes every claimable row of a busy key.
    parked = sum(limits.park(key, now) for key in sorted(picker.busy_keys))
    for job in picker.squeezed:
        preempt_for(job, now)
    won = [message for turn in turns for message in _messages(turn)]
    return Choice(won, len(turns), parked)


def _messages(turn: packs.Turn) -> list[Claimed]:
    job = turn.job
    if job.pack is not None:
        return [_claimed(job, 1 + len(turn.more))]
    first = _claimed(job)
    return [first, *(replace(first, job_id=job_id, lease=lease) for job_id, lease in turn.more)]


def _claimed(job: Job, size: int = 1) -> Claimed:
    return Claimed(job.id, job.lease, job.handler_key, job.job_type, job.queue, job.pack, size, job.slot)


def _claim_chosen(worker: WorkerView, picker: Picker, chosen: list[Candidate], now: datetime) -> list[Job]:
    if not chosen:
        return []
    order = {job.id: n for n, job in enumerate(chosen)}
    won = sorted(transitions.claim(list(order), worker.process_id, now), key=lambda job: order[job.id])
    for queue in {job.queue for job in won}:
        limits.keep(picker.locks[queue])
    picker.gate.save()
    for job in won:
        owner = job.worker_id
        events.emit(
            JobMoved(job.id, job.handler_key, "claim", job.state, job.lease, job.queue, worker_id=owner)
        )
    return won
