"""Short jobs of one type that take turns in one slot, while the backlog is deep: in one message, a pack, or each in
its own where a pack may not be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from jobsplatform.kernel import config
from jobsplatform.kernel.ids import uuid7
from tasks import limits, pace, packing, registry, transitions
from tasks.models import Job
from tasks.sql import claim as sql
from tasks.sql.claim import Candidate
from tasks.sql.writes import Sent
from tasks.suspensions import Gate


@dataclass(frozen=True, slots=True)
class Turn:
    """A claimed job with those that were claimed along with it. ``more`` is empty for most."""

    job: Job
    more: Sequence[Sent] = ()


def fill(
    claimed: Sequence[Job],
    lined_up: Mapping[UUID, UUID],
    rooms: Mapping[str, limits.Room],
    gate: Gate,
    now: datetime,
) -> list[Turn]:
    """Let each claimed job take others of its kind along where that is sound.

    ``lined_up``: the slots that jobs were chosen for ahead of time; the others have a free one of their own. Part of
    a claim's transaction.
    """
    depths: dict[sql.Group, int] = {}
    return [_fill(job, lined_up.get(job.id), claimed, depths, rooms, gate, now) for job in claimed]


def _fill(
    job: Job,
    slot: UUID | None,
    claimed: Sequence[Job],
    depths: dict[sql.Group, int],
    rooms: Mapping[str, limits.Room],
    gate: Gate,
    now: datetime,
) -> Turn:
    wanted = 1
    if may_take_turns(job, gate):
        group, slots = _group(job), rooms[job.queue].slots
        known, packed = pace.of(job.handler_key), _may_pack(job)
        most = packing.MOST if packed else packing.LINE
        if group not in depths:
            depths[group] = sum(_group(other) == group for other in claimed)
            depths[group] += sql.waiting(group, most * max(1, slots))
        wanted = packing.size(known.mean, known.runs, depths[group], slots, most)
    if wanted == 1 and slot is None:
        return Turn(job)
    job.slot = slot or uuid7()
    pack = uuid7() if wanted > 1 and packed else None
    more = transitions.claim_along(job, job.slot, pack, wanted - 1, now)
    job.pack = pack if more else None
    return Turn(job, more)


def _group(job: Job) -> sql.Group:
    return sql.Group(job.queue, job.handler_key, job.priority)


def may_take_turns(job: Job | Candidate, gate: Gate) -> bool:
    """Whether jobs of its kind are known to be short, and nothing counts how many of them run at once; nor was a pack
    failed by this one before."""
    handler = registry.find(*job.handler_key.split(":", 1))
    if handler is None or job.solo or job.concurrency_key:
        return False
    limited = handler.spec.exclusive or handler.spec.max_concurrency is not None
    return (
        not limited
        and not gate.is_throttled(job.queue, job.handler_key)
        and pace.of(job.handler_key).is_short
    )


def _may_pack(job: Job) -> bool:
    """Never types with time limits or a cancel grace of their own: those are kept a message, not a pack."""
    handler = registry.find(job.app_id, job.job_type)
    if handler is None or not config.get().tasks.packing:
        return False
    spec = handler.spec
    timed = spec.timeout is not None or spec.soft_timeout is not None or spec.cancel_grace is not None
    return spec.packable and not timed
