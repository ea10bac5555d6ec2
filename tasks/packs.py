"""Packs: several short jobs of one type in one message and one slot, while the backlog is deep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from jobsplatform.kernel import config
from jobsplatform.kernel.ids import uuid7
from tasks import limits, pace, packing, registry, transitions
from tasks.models import Job
from tasks.sql import claim as sql
from tasks.suspensions import Gate


def fill(
    claimed: Sequence[Job], rooms: Mapping[str, limits.Room], gate: Gate, now: datetime
) -> list[tuple[Job, int]]:
    """Let each claimed job take others of its kind along where that is sound; with the size of its message.

    Part of a claim's transaction. The pack takes the slot that the claimed job has been given.
    """
    depths: dict[sql.Group, int] = {}
    filled = []
    for job in claimed:
        size = 1
        if _may_pack(job, gate):
            group = sql.Group(job.queue, job.handler_key, job.priority)
            slots = rooms[job.queue].slots
            known = pace.of(job.handler_key)
            if group not in depths and known.is_short:
                taken = sum(
                    sql.Group(other.queue, other.handler_key, other.priority) == group for other in claimed
                )
                depths[group] = taken + sql.waiting(group, packing.MOST * max(1, slots))
            wanted = packing.size(known.mean, known.runs, depths.get(group, 0), slots)
            if wanted > 1:
                size = _take_along(job, wanted, now)
        filled.append((job, size))
    return filled


def _take_along(job: Job, wanted: int, now: datetime) -> int:
    pack = uuid7()
    size = transitions.claim_pack(job, pack, wanted, now)
    if size > 1:
        job.pack = pack
    return size


def _may_pack(job: Job, gate: Gate) -> bool:
    """Never types with time limits, a cancel grace of their own or a limit of how many run; nor a job that a pack
    has failed before."""
    handler = registry.find(*job.handler_key.split(":", 1))
    if handler is None or job.solo or job.concurrency_key or not config.get().tasks.packing:
        return False
    spec = handler.spec
    limited = spec.exclusive or spec.max_concurrency is not None
    timed = spec.timeout is not None or spec.soft_timeout is not None or spec.cancel_grace is not None
    return not limited and not timed and not gate.is_throttled(job.queue, job.handler_key)
