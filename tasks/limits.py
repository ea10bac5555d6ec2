"""How many may run at once: slots of a queue, ``max_concurrency`` of a type, the limit of a concurrency key.

A count is exact because whoever gives out a start first takes the lock row of each domain it counts, in the
order of their names, and then counts in a new statement. Lock names begin with ``1:`` (queue), ``2:`` (type),
``3:`` (concurrency key) and ``4:`` (overlap key), so that all kinds are always taken in that order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Count, Q

from jobsplatform.kernel import config, db, processes
from jobsplatform.kernel.prepared import prepared_cursor
from tasks import transitions
from tasks.models import DispatchLock, Job
from tasks.sql import counts
from tasks.sql.claim import Candidate
from tasks.sql.values import time_in
from tasks.states import IN_FLIGHT, Hold, Priority, State

Key = tuple[str, str, str]  # tenant, app, concurrency key

_PARK_BATCH = 1000
_NOBODY = UUID(int=0)
_APART = "\x1f"  # no name may contain a control character


def queue_lock(queue: str) -> str:
    return f"1:{queue}"


def type_lock(handler_key: str) -> str:
    return f"2:{handler_key}"


def key_lock(key: Key) -> str:
    return "3:" + _APART.join(key)


def overlap_lock(key: str) -> str:
    return f"4:{key}"


def key_of_lock(name: str) -> Key:
    """The concurrency key that a lock row of that kind is for."""
    tenant, app, key = name.removeprefix("3:").split(_APART)
    return tenant, app, key


def take(names: Iterable[str]) -> dict[str, DispatchLock]:
    """Lock the rows of these names (made when missing) until the transaction ends; ascending, so no deadlock."""
    rows = [row for row in db.lock_rows(DispatchLock, names) if isinstance(row, DispatchLock)]
    return {row.name: row for row in rows}


def keep(lock: DispatchLock) -> None:
    """Write the fairness count of a lock row that is held."""
    with prepared_cursor(connection) as cursor:
        cursor.execute(
            "UPDATE tasks_dispatchlock SET claims = %s, fair_at = %s WHERE name = %s",
            [lock.claims, time_in(lock.fair_at), lock.name],
        )


@dataclass(frozen=True, slots=True)
class InFlight:
    """What is dispatched or running now. Jobs that take turns in one slot take one slot; limits count jobs."""

    mine: int  # slots of one worker
    slots: Mapping[str, int]  # by queue
    jobs: Mapping[str, int]  # by type


def in_flight(worker_id: UUID) -> InFlight:
    """Count in one statement, as of now. The caller holds the lock rows of what it counts for."""
    counted = counts.in_flight()
    mine, slots = 0, dict[str, int]()
    for (queue, owner), n in counted.slots.items():
        mine += n if owner == worker_id else 0
        slots[queue] = slots.get(queue, 0) + n
    return InFlight(mine, slots, counted.jobs)


def slots_in_use() -> Mapping[str, int]:
    """Slots taken now, by queue."""
    return in_flight(_NOBODY).slots


@dataclass(slots=True)
class Room:
    """Free starts of one queue. Jobs below USER_ACTION leave the reserved ones alone. ``slots``: all there are."""

    any: int
    high: int
    slots: int = 0

    def has(self, priority: int) -> bool:
        return self.high > 0 if priority >= Priority.USER_ACTION else self.any > 0

    def take(self) -> None:
        self.any -= 1
        self.high -= 1


def rooms(queues: Iterable[str], used: Mapping[str, int], now: datetime) -> dict[str, Room]:
    """The room of each queue: its live slots, or its configured cap, less those ``used``."""
    settings = config.get().tasks
    wanted = list(queues)
    slots = dict.fromkeys(wanted, 0)
    for process in processes.slots(now, settings.lease_seconds):
        for queue in process.queues:
            if queue in slots:
                slots[queue] += process.count
    found = {}
    for queue, live in slots.items():
        most = min(live, settings.queue_caps.get(queue, live))
        reserved = max(0, min(settings.reserved_high_priority_slots, most - 1))
        running = used.get(queue, 0)
        found[queue] = Room(any=most - reserved - running, high=most - running, slots=most)
    return found


def leave_one(rooms: Iterable[Room], running: int) -> None:
    """Reserved slots are taken from those of all who serve a queue, and these sidecars may know different types: one
    that runs nothing may start any job, or the slots of others would stop it for ever."""
    for room in rooms:
        room.any = max(room.any, min(room.high, 1 - running))


def in_flight_of_types(handler_keys: Iterable[str]) -> dict[str, int]:
    """Jobs dispatched or running, by type."""
    rows = Job.objects.filter(state__in=sorted(IN_FLIGHT), handler_key__in=list(handler_keys))
    return dict(rows.values_list("handler_key").annotate(n=Count("*")).order_by())


def in_flight_of_keys(keys: Iterable[Key]) -> dict[Key, int]:
    """Jobs dispatched or running, by concurrency key."""
    names = {key[2] for key in keys}
    rows = Job.objects.filter(state__in=sorted(IN_FLIGHT), concurrency_key__in=list(names))
    rows = rows.exclude(concurrency_key="")  # as its index says
    counted = rows.values_list("tenant_id", "app_id", "concurrency_key").annotate(n=Count("*")).order_by()
    return {(tenant, app, name): n for tenant, app, name, n in counted}


def key_of(job: Job | Candidate) -> Key | None:
    """The concurrency key of a job, within its tenant and app."""
    return (job.tenant_id, job.app_id, job.concurrency_key) if job.concurrency_key else None


def park(key: Key, now: datetime) -> int:
    """Take claimable jobs of a busy key out of the claim's way, a batch at a time."""
    tenant, app, name = key
    rows = Job.objects.filter(
        state=State.PENDING, hold=Hold.NONE, tenant_id=tenant, app_id=app, concurrency_key=name
    ).order_by("id")
    ids = list(rows.select_for_update(skip_locked=True).values_list("id", flat=True)[:_PARK_BATCH])
    return transitions.hold(ids, Hold.KEY, now)


def unpark(key: Key, now: datetime) -> int:
    """After a key has come free: let the next jobs of each queue and type that wait for it be claimed again.

    A few too many do no harm: the claim counts, and parks them again.
    """
    tenant, app, name = key
    held = Job.objects.filter(
        state=State.PENDING, hold=Hold.KEY, tenant_id=tenant, app_id=app, concurrency_key=name
    )
    ids: list[UUID] = []
    lane = held.order_by("queue", "handler_key").values_list("queue", "handler_key").first()
    while lane is not None:
        queue, handler_key = lane
        first = held.filter(queue=queue, handler_key=handler_key).order_by("-priority", "due_at", "id")
        top = list(first.values_list("id", "concurrency_limit")[:1])
        limit = top[0][1] if top else 1
        ids += first.values_list("id", flat=True)[: max(1, limit)]
        beyond = Q(queue__gt=queue) | Q(queue=queue, handler_key__gt=handler_key)
        lane = (
            held.filter(beyond).order_by("queue", "handler_key").values_list("queue", "handler_key").first()
        )
    return _unhold(ids, now)


def _unhold(ids: list[UUID], now: datetime) -> int:
    if not ids:
        return 0
    with transaction.atomic():
        locked = (
            Job.objects.filter(id__in=ids).order_by("id").select_for_update().values_list("id", flat=True)
        )
        return transitions.unhold(list(locked), Hold.KEY, now)


def unpark_free_keys(now: datetime, most: int = 200) -> int:
    """The sweeper's check: keys with held jobs, nothing in flight up to the limit, and nothing claimable."""
    held = Job.objects.filter(state=State.PENDING, hold=Hold.KEY).order_by(
        "tenant_id", "app_id", "concurrency_key"
    )
    freed, key = 0, held.values_list("tenant_id", "app_id", "concurrency_key").first()
    for _ in range(most):
        if key is None:
            break
        tenant, app, name = key
        limit = held.filter(tenant_id=tenant, app_id=app, concurrency_key=name)[:1].get().concurrency_limit
        if in_flight_of_keys([key]).get(key, 0) < limit:
            freed += unpark(key, now)
        beyond = (
            Q(tenant_id__gt=tenant)
            | Q(tenant_id=tenant, app_id__gt=app)
            | Q(tenant_id=tenant, app_id=app, concurrency_key__gt=name)
        )
        key = held.filter(beyond).values_list("tenant_id", "app_id", "concurrency_key").first()
    return freed
