"""What this worker holds right now, as Celery sees it: requests in the pool or on their way into it."""

from __future__ import annotations

import threading
from typing import Any
from uuid import UUID

from celery.worker import state

from tasks.worker.sender import TASK_NAME, WORKER_HEADER

RunKey = tuple[UUID, int]
"""(job id, lease): one run; or (pack, 0): the runs of one pack. No lease is ever 0."""


def key_of(job_id: UUID, lease: int, pack: UUID | None) -> RunKey:
    """What works on a run: its own message, or that of its pack."""
    return (job_id, lease) if pack is None else (pack, 0)


def run_keys(request: Any) -> list[RunKey]:
    """Which runs a Celery request is: one, or several that a process works on in turn. None for other tasks and for
    messages that make no sense."""
    if request.task.name != TASK_NAME:
        return []
    return parse_keys(request.args, request.kwargs)


def parse_keys(args: Any, kwargs: Any) -> list[RunKey]:
    """The (job id, lease) or (pack, 0) that a message names, or all those of the list that it is; nothing when it is
    not exactly that."""
    if kwargs or not isinstance(args, list | tuple):
        return []
    if len(args) == 1 and isinstance(args[0], list):
        keys = [_parse_key(one) for one in args[0]]
        return [key for key in keys if key is not None] if None not in keys else []
    key = _parse_key(args)
    return [] if key is None else [key]


def _parse_key(args: Any) -> RunKey | None:
    if not isinstance(args, list | tuple) or len(args) != 2:
        return None
    job_id, lease = args
    if not isinstance(job_id, str) or type(lease) is not int or not 0 <= lease < 2**63:
        return None
    try:
        return UUID(job_id), lease
    except ValueError:
        return None


def sender_of(request_headers: Any) -> UUID | None:
    """The incarnation that sent a message, as its header says."""
    try:
        return UUID(str(request_headers[WORKER_HEADER]))
    except (KeyError, TypeError, ValueError):
        return None


def _snapshot(requests: Any) -> list[Any]:
    # The main thread adds to these sets while other threads look.
    for _ in range(10):
        try:
            return list(requests)
        except RuntimeError:
            continue
    return []


def held() -> list[Any]:
    """Requests that were taken from the broker and have not ended."""
    return _snapshot(state.reserved_requests)


def active() -> dict[RunKey, Any]:
    """Runs that a pool process or thread has begun."""
    return {key: request for request in _snapshot(state.active_requests) for key in run_keys(request)}


def accepted_so_far() -> int:
    """How many requests the pool has begun since the worker started; it only grows."""
    return int(state.all_total_count[0])


class Abandoned:
    """Runs that were ended in the database while their thread still works: they occupy a slot."""

    def __init__(self) -> None:
        self._keys: set[RunKey] = set()
        self._lock = threading.Lock()

    def add(self, key: RunKey) -> None:
        with self._lock:
            self._keys.add(key)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def still_working(self) -> set[RunKey]:
        """Those whose thread has not come back; the others are forgotten."""
        working = set(active())
        with self._lock:
            self._keys &= working
            return set(self._keys)


def occupied(process_id: UUID, abandoned: Abandoned) -> int:
    """Slots that the database does not know of: plain Celery tasks, abandoned runs, runs of an incarnation
    that others took for dead."""
    given_up = abandoned.still_working()
    return sum(1 for request in held() if _is_foreign(request, process_id, given_up))


def _is_foreign(request: Any, process_id: UUID, given_up: set[RunKey]) -> bool:
    keys = run_keys(request)
    return not keys or not given_up.isdisjoint(keys) or sender_of(request.request_dict) != process_id


def plain_active() -> list[Any]:
    """Plain Celery tasks, not of the platform, that the pool works on."""
    return [request for request in _snapshot(state.active_requests) if request.task.name != TASK_NAME]
