"""The way in: a request becomes a job row, inside the caller's transaction.

The id is known at once; a rollback leaves no row and no message. Unique indexes decide every race (dedupe key,
idempotency key, child key), by ON CONFLICT, so that a clash never breaks the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction

from jobsplatform.kernel import clock, events
from jobsplatform.kernel.db import after_commit
from jobsplatform.kernel.models import AuditEvent
from tasks import admission, dedupe, hints, idempotency, limits, transitions
from tasks.drafts import Draft, drafts, drafts_of
from tasks.events import JobSubmitted, TickSkipped
from tasks.models import Job
from tasks.requests import JobRequest, TenantStates
from tasks.sql.insert import insert, insert_recorded
from tasks.states import ACTIVE, Hold, Role

_BATCH = 1000
_MADE = frozenset({"created", "alias", "successor"})


@dataclass(frozen=True, slots=True)
class SubmitResult:
    """What became of a request. ``status``: created; alias (mirrors ``leader_id``); successor (waits for
    ``leader_id``); replayed (the key or child had made this job before); skipped (``outcome`` says why, no job)."""

    id: UUID | None
    status: str
    leader_id: UUID | None = None
    outcome: Mapping[str, Any] | None = None


def enqueue(job_type: str, params: Mapping[str, Any] | None = None, **fields: Any) -> SubmitResult:
    """Submit one job; ``fields`` are those of ``JobRequest``. Raises what ``submit`` raises."""
    return submit(JobRequest(job_type, params or {}, **fields))


def submit(request: JobRequest, now: datetime | None = None) -> SubmitResult:
    """Make one job. Raises UnknownName, ParamsInvalid, ParamsTooLarge, InvalidInput, TenantForbidden,
    IdempotencyConflict, and DuplicateJob in dedupe mode ``reject``; then nothing was stored."""
    return submit_many([request], now)[0]


def submit_shown(
    request: JobRequest, now: datetime, record: Callable[[SubmitResult], AuditEvent]
) -> tuple[SubmitResult, Job]:
    """``submit``, and the job as it is stored: for doors that show it at once. ``record``: of what became of it, for
    the audit trail; it is written with the job."""
    (draft,) = drafts([request], now)
    if not draft.keyed:  # nobody else has a say in it: what is written is known
        result = SubmitResult(draft.id, "created")
        insert_recorded(draft, record(result))
        _tell([draft], [result])
        return result, draft.row()
    with transaction.atomic():
        (result,) = _submit([draft], now)
        record(result).save()
        return result, Job.objects.select_related("leader").get(id=result.id)


def submit_many(
    requests: Iterable[JobRequest], now: datetime | None = None, *, tenants: TenantStates | None = None
) -> list[SubmitResult]:
    """Make many jobs in one transaction, all or none; the results come in the order of the requests.

    ``tenants``: states that the caller has read in this transaction; those of others are read one by one.
    """
    now = now or clock.now()
    return _submit(list(drafts(requests, now, tenants)), now)


def submit_each(request: JobRequest, params: Iterable[Mapping[str, Any]]) -> list[SubmitResult]:
    """``submit_many`` of ``request`` with each of ``params`` in place of its own."""
    now = clock.now()
    return _submit(list(drafts_of(request, params, now)), now)


def _submit(made: Sequence[Draft], now: datetime) -> list[SubmitResult]:
    if any(draft.keyed for draft in made):
        with transaction.atomic():
            results = _submit_keyed(made, now)
    else:
        insert(made)
        results = [SubmitResult(draft.id, "created") for draft in made]
    _tell(made, results)
    return results


def _submit_keyed(made: Sequence[Draft], now: datetime) -> list[SubmitResult]:
    rows = _Rows(made)
    results: dict[int, SubmitResult] = {}
    for n, busy in _busy_ticks(made, rows, now).items():
        results[n] = busy
    keyed = {
        n: key
        for n, draft in enumerate(made)
        if (key := draft.common.request.idempotency_key) is not None and n not in results
    }
    for n, job_id in idempotency.claim(made, keyed, now).items():
        results[n] = SubmitResult(job_id, "replayed")
    rest = [n for n in range(len(made)) if n not in results]
    children = [n for n in rest if made[n].common.columns["parent_id"]]
    for n, twin in _insert_children([made[n] for n in children]).items():
        results[children[n]] = SubmitResult(twin, "replayed")
    among = set(children)
    deduped = [n for n in rest if n not in among and made[n].columns()["dedupe_key"]]
    # Sorted, so that two bulk submits of the same keys never wait for each other in a circle.
    for n in sorted(deduped, key=lambda n: dedupe.identity(rows[n])):
        status, leader = dedupe.insert(rows[n], now)
        results[n] = SubmitResult(rows[n].id, status, leader)
    plain = [n for n in rest if n not in results and n not in among]
    insert([made[n] for n in plain])
    return [results.get(n) or SubmitResult(draft.id, "created") for n, draft in enumerate(made)]


class _Rows:
    """The rows of drafts, each made when first asked for: most are stored without."""

    def __init__(self, made: Sequence[Draft]) -> None:
        self._made = made
        self._rows: dict[int, Job] = {}

    def __getitem__(self, n: int) -> Job:
        if n not in self._rows:
            self._rows[n] = self._made[n].row()
        return self._rows[n]


def _busy_ticks(made: Sequence[Draft], rows: _Rows, now: datetime) -> dict[int, SubmitResult]:
    """Ticks of exclusive types that find an unfinished job: skipped, not queued. Where an overlap policy was asked
    for, that decides."""
    ticks = {
        n: rows[n]
        for n, draft in enumerate(made)
        if draft.common.request.tick_interval_ms is not None
        and draft.common.columns["exclusive"]
        and not draft.common.columns["overlap"]
    }
    if not ticks:
        return {}
    limits.take(limits.type_lock(row.handler_key) for row in ticks.values())
    skipped, taken = {}, set()
    for n, row in ticks.items():
        busy = (
            Job.objects.filter(handler_key=row.handler_key, state__in=sorted(ACTIVE)).order_by("id").first()
        )
        if busy is None and row.handler_key not in taken:
            taken.add(row.handler_key)
            continue
        since = (busy.started_at or busy.created_at) if busy else now
        lasted = int((now - since).total_seconds() * 1000)
        interval = made[n].common.request.tick_interval_ms or 0
        events.emit(TickSkipped(row.job_type, interval, lasted, busy.id if busy else None))
        outcome = {"skipped": "already_running"}
        skipped[n] = SubmitResult(None, "skipped", busy.id if busy else None, outcome)
    return skipped


def _insert_children(made: Sequence[Draft]) -> dict[int, UUID]:
    """Insert children; where the parent has one of that key already, its id is returned instead."""
    if not made:
        return {}
    for draft in made:
        if draft.columns()["dedupe_key"]:
            # A child is unique by its key within the parent; as an alias of a stranger it could never be awaited alone.
            draft.keys = {**draft.keys, "role": Role.NONE, "dedupe_key": ""}
    keys = [(draft.common.columns["parent_id"], draft.common.columns["child_key"]) for draft in made]
    parents = {parent for parent, _ in keys}
    transitions.note_parents(parents)
    insert(made, once=True)
    have: dict[tuple[UUID, str], UUID] = {}
    for start in range(0, len(made), _BATCH):
        part = [key for _, key in keys[start : start + _BATCH]]
        found = Job.objects.filter(parent_id__in=parents, child_key__in=part)
        have |= {
            (parent, key): job_id for parent, key, job_id in found.values_list("parent_id", "child_key", "id")
        }
    return {n: have[key] for n, key in enumerate(keys) if have[key] != made[n].id}


def _tell(made: Sequence[Draft], results: Sequence[SubmitResult]) -> None:
    fresh = [
        (draft.id, draft.common.columns, result.status)
        for draft, result in zip(made, results, strict=True)
        if result.status in _MADE
    ]
    if not fresh:
        return

    def tell() -> None:
        for job_id, its, status in fresh:
            events.deliver(
                JobSubmitted(
                    job_id, its["handler_key"], its["queue"], status, its["user_id"], its["tenant_id"]
                )
            )
        hints.wake_now()

    keys = {its["overlap_key"] for _, its, _ in fresh if its["hold"] is Hold.OVERLAP}
    if keys:  # before others are told, so that they find what may start
        after_commit(lambda: admission.admit(keys, clock.now()))
    after_commit(tell)
    for job_id, _, status in fresh:
        if status != "created":
            after_commit(partial(dedupe.check, job_id))
