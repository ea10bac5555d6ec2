"""The one writer of a job's state.

Each legal move of ``tasks.states.MOVES`` is a function here of the same name. Every one is a conditional
update: it names the states it may leave and, once a job has been claimed, the run lease; it returns whether
the row was changed. A stale writer changes nothing. All instants are arguments, aware, in UTC.

The other functions here write beside the state (progress, checkpoint, a cancel request, a hold); those of a
run carry its lease just the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Value, When

from jobsplatform.kernel.db import is_postgres, pipelined
from tasks.models import Job
from tasks.sql import writes
from tasks.sql.progress import Report, write_many
from tasks.states import ACTIVE, BY_NAME, DECIDED, INTERRUPTIONS, CancelReason, Cause, Hold, Role, State

_UNASKED: dict[str, Any] = {"cancel_reason": CancelReason.NONE, "cancel_requested_at": None}
_FREE: dict[str, Any] = {"worker_id": None, "pack": None, "slot": None, "deadline_at": None}
_AGAIN: dict[str, Any] = {**_UNASKED, **_FREE, "dispatched_at": None}
# Claimed once, a job was let through before, and occupies its overlap key until it ends.
_TO_DECIDE = Q(lease=0, overlap__in=sorted(DECIDED))


def _rows(move: str, job_id: UUID, lease: int | None) -> QuerySet[Job]:
    rows = Job.objects.filter(id=job_id, state__in=BY_NAME[move].sources)
    return rows if lease is None else rows.filter(lease=lease)


def _write(move: str, rows: QuerySet[Job], now: datetime, **columns: Any) -> int:
    return rows.update(state=BY_NAME[move].target, updated_at=now, revision=F("revision") + 1, **columns)


def _held(job_id: UUID, lease: int, deferred: bool) -> QuerySet[Job]:
    """The row while its run goes on under this lease; ``deferred``: or while somebody outside is to finish it."""
    held = Q(state=State.RUNNING)
    if deferred:
        held |= Q(state=State.WAITING, open_end=True)
    return Job.objects.filter(held, id=job_id, lease=lease)


def _due(due_at: datetime, now: datetime) -> dict[str, Any]:
    return {"due_at": due_at, "hold": Hold.LATER if due_at > now else Hold.NONE}


# -- dispatch ----------------------------------------------------------------------------------------


def claim(job_ids: Iterable[UUID], worker_id: UUID, now: datetime) -> list[Job]:
    """Give pending jobs to one worker, each under a new lease; returns those that were won.

    The caller holds the lock rows of every limit that applies; rows that somebody else holds are left alone.
    """
    return writes.claim(list(job_ids), worker_id, now)


def claim_along(first: Job, slot: UUID, pack: UUID | None, most: int, now: datetime) -> list[writes.Sent]:
    """Claim up to ``most`` more jobs of the kind of a job just claimed, to take turns with it in one slot; those jobs.

    With ``pack`` they are all sent in one message, without it each in its own.
    """
    return writes.claim_along(first, slot, pack, most, now)


def resend(job_id: UUID, lease: int, now: datetime) -> int | None:
    """A new lease for a message that was lost; returns it, or None when the job has moved on."""
    rows = _rows("resend", job_id, lease)
    # It leaves its pack: whatever held that up shall not hold up this one again.
    fresh = {"lease": lease + 1, "dispatched_at": now, "pack": None, "slot": None, "solo": True}
    return lease + 1 if _write("resend", rows, now, **fresh) else None


def hand_back(job_id: UUID, lease: int, reason: str, now: datetime) -> bool:
    """A dispatched job that was not started waits again, free of charge."""
    rows = _rows("hand_back", job_id, lease)
    return bool(_write("hand_back", rows, now, reason=reason, hold=Hold.NONE, due_at=F("due_at"), **_AGAIN))


def hand_back_pack(pack: UUID, reason: str, now: datetime, *, solo: bool = True) -> int:
    """What a pack holds and was not started waits again, free of charge; ``solo``: to be sent singly."""
    rows = Job.objects.filter(pack=pack, state__in=BY_NAME["hand_back"].sources)
    columns = {**_AGAIN, "solo": True} if solo else _AGAIN
    return _write("hand_back", rows, now, reason=reason, hold=Hold.NONE, **columns)


def hand_back_slot(slot: UUID, reason: str, now: datetime) -> int:
    """What waits for its turn in a slot and was not started waits again, free of charge."""
    rows = Job.objects.filter(slot=slot, state__in=BY_NAME["hand_back"].sources)
    return _write("hand_back", rows, now, reason=reason, hold=Hold.NONE, **_AGAIN)


# -- the run -----------------------------------------------------------------------------------------


def start(job_id: UUID, lease: int, now: datetime, *, worker_id: UUID | None = None) -> Job | None:
    """The run begins: the row as it is then, or None when it was not this lease that waited to be started.

    Its progress begins anew, unless it goes on from a checkpoint.
    """
    return writes.start(job_id, lease, worker_id, now)


def limit_run(job_id: UUID, lease: int, deadline: datetime) -> bool:
    """The hard time limit of a run that has just begun."""
    return bool(Job.objects.filter(id=job_id, state=State.RUNNING, lease=lease).update(deadline_at=deadline))


def start_pack(pack: UUID, worker_id: UUID, most: int, now: datetime) -> list[Job]:
    """Up to ``most`` runs of a pack begin; those of its jobs that were cancelled or given to others do not."""
    return writes.start_pack(pack, worker_id, most, now)()


def progress(
    job_id: UUID,
    lease: int,
    done: float | None,
    total: float | None,
    label: str,
    now: datetime,
    *,
    deferred: bool = False,
) -> bool:
    """Write a run's progress. False: the lease is no longer held."""
    won = _held(job_id, lease, deferred).update(
        progress_done=done,
        progress_total=total,
        progress_label=label,
        progress_at=now,
        updated_at=now,
        revision=F("revision") + 1,
    )
    return bool(won)


def progress_many(reports: Sequence[Report], now: datetime) -> set[tuple[UUID, int]]:
    """Write the progress of many runs; those (job and lease) of which it was written. The others are to be written one
    by one: their leases are no longer held, or somebody else works on their rows just now."""
    return write_many(reports, now) if len(reports) > 1 and is_postgres() else set()


def checkpoint(job_id: UUID, lease: int, cursor: Any, now: datetime, *, deferred: bool = False) -> bool:
    """Save where the next run is to go on; what was done is safe, so the crash budget starts anew."""
    rows = _held(job_id, lease, deferred)
    won = rows.update(checkpoint=cursor, crashes=0, losses=0, updated_at=now, revision=F("revision") + 1)
    return bool(won)


def note_children(
    job_id: UUID, lease: int, ignore_failures: bool, now: datetime, *, deferred: bool = False
) -> bool:
    """Say whether failed children fail the job. False: the lease is no longer held; make no children."""
    rows = _held(job_id, lease, deferred)
    return bool(
        rows.update(
            ignore_child_failures=ignore_failures, spawned=True, updated_at=now, revision=F("revision") + 1
        )
    )


def note_parents(job_ids: Iterable[UUID]) -> int:
    """These jobs have children from now on, whoever made them."""
    return Job.objects.filter(id__in=sorted(set(job_ids)), spawned=False).update(spawned=True)


def merge_data(
    job_id: UUID, lease: int, patch: Mapping[str, Any], now: datetime, *, deferred: bool = False
) -> dict[str, Any] | None:
    """Merge top-level keys into the job's ``data``; returns the whole, or None when the lease is lost."""
    with transaction.atomic():
        job = _held(job_id, lease, deferred).select_for_update().first()
        if job is None:
            return None
        data = {**job.data, **patch}
        Job.objects.filter(id=job_id).update(data=data, updated_at=now, revision=F("revision") + 1)
        return data


def ask_to_stop(job_id: UUID, reason: CancelReason, now: datetime, *, by: UUID | None = None) -> bool:
    """Ask a run to stop. A user's word outranks an interruption; otherwise the first asker's reason stays.
    ``by``: the job that a preempted one makes room for."""
    weaker = Q(cancel_reason=CancelReason.NONE)
    if reason not in INTERRUPTIONS:
        weaker |= Q(cancel_reason__in=INTERRUPTIONS)
    rows = Job.objects.filter(weaker, id=job_id, state=State.RUNNING)
    won = rows.update(
        cancel_reason=reason,
        cancel_requested_at=now,
        preempted_by=by,
        updated_at=now,
        revision=F("revision") + 1,
    )
    return bool(won)


# -- ends of a run, back to pending ------------------------------------------------------------------


def retry(job_id: UUID, lease: int, due_at: datetime, now: datetime, **facts: Any) -> bool:
    """Again at ``due_at``; an attempt is used."""
    rows = _rows("retry", job_id, lease)
    columns = {
        **_AGAIN,
        **_due(due_at, now),
        "failures": F("failures") + 1,
        "crashes": 0,
        "losses": 0,
        **facts,
    }
    return bool(_write("retry", rows, now, open_end=False, **columns))


def snooze(job_id: UUID, lease: int, due_at: datetime, now: datetime, **facts: Any) -> bool:
    """Again at ``due_at``; no attempt is used."""
    columns = {**_AGAIN, **_due(due_at, now), "crashes": 0, "losses": 0, **facts}
    return bool(_write("snooze", _rows("snooze", job_id, lease), now, open_end=False, **columns))


def interrupt(job_id: UUID, lease: int, now: datetime, *, hold: Hold = Hold.NONE, **facts: Any) -> bool:
    """Back to pending with its checkpoint; nothing is used. ``hold`` PREEMPTED: not before its preemptor."""
    columns = {**_AGAIN, **facts, "hold": hold}
    return bool(_write("interrupt", _rows("interrupt", job_id, lease), now, open_end=False, **columns))


def lose(job_id: UUID, lease: int, now: datetime, *, whole_worker: bool, **facts: Any) -> bool:
    """Its process died: back to pending at once, counted on one of the two crash budgets."""
    budget = "losses" if whole_worker else "crashes"
    columns = {**_AGAIN, **_due(now, now), budget: F(budget) + 1, **facts}
    return bool(_write("lose", _rows("lose", job_id, lease), now, **columns))


# -- ends of a run, resting --------------------------------------------------------------------------


def wait(
    job_id: UUID, lease: int, now: datetime, *, deadline: datetime | None, open_end: bool, **facts: Any
) -> bool:
    """Wait for children, or (``open_end``) for a finish from outside until ``deadline``. A cancel comes first."""
    rows = _rows("wait", job_id, lease).filter(cancel_reason=CancelReason.NONE)
    columns = {**_FREE, **facts, "open_end": open_end, "deadline_at": deadline}
    return bool(_write("wait", rows, now, **columns))


def pause(job_id: UUID, lease: int, resume_at: datetime | None, now: datetime, **facts: Any) -> bool:
    """Rest until resumed by hand, or until ``resume_at``."""
    columns = {**_FREE, **_UNASKED, **facts, "deadline_at": resume_at}
    return bool(_write("pause", _rows("pause", job_id, lease), now, open_end=False, **columns))


# -- final -------------------------------------------------------------------------------------------


def _final(now: datetime, purge_after: timedelta | None) -> dict[str, Any]:
    return {
        **_FREE,
        "hold": Hold.NONE,
        "finished_at": now,
        "open_end": False,
        "purge_at": None if purge_after is None else now + purge_after,
    }


def complete(job_id: UUID, lease: int, now: datetime, *, purge_after: timedelta | None, **facts: Any) -> bool:
    """Done. Never after a cancel was asked for."""
    rows = _rows("complete", job_id, lease).filter(cancel_reason=CancelReason.NONE)
    return bool(_write("complete", rows, now, **_final(now, purge_after), **facts))


def complete_many(
    runs: Sequence[writes.Completed], purge_after: timedelta | None, worker_id: UUID | None, worker: str
) -> set[UUID]:
    """``complete`` for plain runs, with their attempts, in one statement; the jobs that were completed by it."""
    return writes.complete(runs, purge_after, worker_id, worker)()


def turn_pack(
    runs: Sequence[writes.Completed],
    purge_after: timedelta | None,
    worker: str,
    following: writes.Part,
    now: datetime,
    meanwhile: Callable[[], None],
) -> tuple[set[UUID], list[Job]]:
    """``complete_many`` and ``start_pack`` in one trip; ``meanwhile`` is called while the database works on them."""
    with pipelined() if len(runs) > 1 else nullcontext():
        completed = writes.complete(runs, purge_after, following.worker_id, worker)
        started = writes.start_pack(*following, now)
        meanwhile()
        return completed(), started()


def complete_and_start(
    run: writes.Completed,
    purge_after: timedelta | None,
    worker_id: UUID | None,
    worker: str,
    following: writes.Next,
    now: datetime,
) -> tuple[bool, Job | None]:
    """``complete_many`` for one plain run and ``start`` of another at once; whether the first was completed, and the
    second as it is then."""
    return writes.complete_and_start(run, purge_after, worker_id, worker, following, now)


def fail(
    job_id: UUID, lease: int, now: datetime, *, purge_after: timedelta | None, used: bool, **facts: Any
) -> bool:
    """Failed for good; ``used``: the run used an attempt."""
    columns = {**_final(now, purge_after), **facts}
    if used:
        columns["failures"] = F("failures") + 1
    return bool(_write("fail", _rows("fail", job_id, lease), now, **columns))


def crash(
    job_id: UUID,
    lease: int,
    now: datetime,
    *,
    purge_after: timedelta | None,
    whole_worker: bool,
    **facts: Any,
) -> bool:
    """Its process died once too often."""
    budget = "losses" if whole_worker else "crashes"
    columns = {**_final(now, purge_after), budget: F(budget) + 1, "cause": Cause.CRASHED, **facts}
    return bool(_write("crash", _rows("crash", job_id, lease), now, **columns))


def stop(job_id: UUID, lease: int, now: datetime, *, purge_after: timedelta | None, **facts: Any) -> bool:
    """A run ends cancelled."""
    columns = {**_final(now, purge_after), "cause": Cause.CANCELLED, **facts}
    return bool(_write("stop", _rows("stop", job_id, lease), now, **columns))


def cancel(
    job_id: UUID, reason: CancelReason, now: datetime, *, purge_after: timedelta | None, note: str = ""
) -> bool:
    """Cancelled before or between runs; a message on its way will find nothing to start."""
    return bool(cancel_many([job_id], reason, now, purge_after=purge_after, note=note))


def cancel_many(
    job_ids: Collection[UUID],
    reason: CancelReason,
    now: datetime,
    *,
    purge_after: timedelta | None,
    note: str = "",
) -> int:
    """``cancel`` for many in one statement, of which the caller holds the rows; how many were cancelled."""
    rows = Job.objects.filter(id__in=job_ids, state__in=BY_NAME["cancel"].sources)
    columns = {
        **_final(now, purge_after),
        "cause": Cause.CANCELLED,
        "cancel_reason": reason,
        "cancel_requested_at": now,
    }
    return _write("cancel", rows, now, reason=note or str(reason), **columns)


# -- between runs ------------------------------------------------------------------------------------


def resume(job_id: UUID, now: datetime, reason: str) -> bool:
    """A paused job may run again."""
    columns = {**_AGAIN, **_due(now, now)}
    return bool(_write("resume", _rows("resume", job_id, None), now, reason=reason, **columns))


def go_on(job_id: UUID, lease: int, now: datetime) -> bool:
    """All children have ended: the parent's continuation may run."""
    rows = _rows("go_on", job_id, lease).filter(~open_children(), open_end=False)
    columns = {**_AGAIN, **_due(now, now), "continuing": True}
    return bool(_write("go_on", rows, now, reason="continuation", **columns))


def open_children() -> Exists:
    """Whether a job row has children that have not ended (for use in a query on jobs)."""
    return Exists(Job.objects.filter(parent_id=OuterRef("pk"), state__in=ACTIVE))


def revive(job_id: UUID, now: datetime, **columns: Any) -> bool:
    """An operator retries an ended job: a new budget, the same id and history; no result of an earlier run stays."""
    fresh = {
        **_AGAIN,
        **_due(now, now),
        "failures": 0,
        "crashes": 0,
        "losses": 0,
        "finished_at": None,
        "purge_at": None,
        "cause": Cause.NONE,
        "result": None,
        "continuing": False,
        "latest_start_at": None,
    }
    return bool(
        _write("revive", _rows("revive", job_id, None), now, reason="retried by hand", **{**fresh, **columns})
    )


# -- aliases and successors --------------------------------------------------------------------------


def settle_aliases(leader: Job, now: datetime, purge_after: timedelta | None) -> int:
    """End every live alias of an ended leader as the leader ended. What they show is read through ``leader``."""
    live = Job.objects.filter(leader_id=leader.id, role=Role.ALIAS, state=State.PENDING)
    move = {State.COMPLETED: "settle_completed", State.FAILED: "settle_failed", State.CANCELLED: "cancel"}
    ids = list(live.order_by("id").select_for_update().values_list("id", flat=True))
    return (
        _write(
            move[State(leader.state)],
            live.filter(id__in=ids),
            now,
            reason=leader.reason,
            cause=leader.cause,
            **_final(now, purge_after),
        )
        if ids
        else 0
    )


def promote(job_id: UUID, now: datetime) -> bool:
    """An alias or successor becomes the leader of its key; the old leader has left the key before. It may start now,
    as far as its key is concerned: it waits for its time, or for those that it must not overlap."""
    rows = Job.objects.filter(id=job_id, role__in=[Role.ALIAS, Role.SUCCESSOR], state=State.PENDING)
    hold = Case(
        When(due_at__gt=now, then=Value(Hold.LATER)),
        When(_TO_DECIDE, then=Value(Hold.OVERLAP)),
        default=Value(Hold.NONE),
    )
    won = rows.update(
        role=Role.LEADER, leader=None, hold=hold, updated_at=now, revision=F("revision") + 1, reason=""
    )
    return bool(won)


def rebind_aliases(old: UUID, new: UUID, now: datetime) -> int:
    """The live aliases of one leader follow another."""
    rows = Job.objects.filter(leader_id=old, role=Role.ALIAS, state=State.PENDING).exclude(id=new)
    return rows.update(leader_id=new, updated_at=now, revision=F("revision") + 1)


# -- holds: in and out of the claim's index ----------------------------------------------------------


def hold(job_ids: Iterable[UUID], why: Hold, now: datetime) -> int:
    """Take claimable rows out of the claim's index."""
    rows = Job.objects.filter(id__in=list(job_ids), state=State.PENDING, hold=Hold.NONE)
    return rows.update(hold=why, updated_at=now, revision=F("revision") + 1)


def unhold(job_ids: Iterable[UUID], why: Hold, now: datetime) -> int:
    """Put rows held for ``why`` back. One whose time has not come goes to LATER, and one that nobody let through to
    OVERLAP: the caller then has its key looked at, else the sweeper does."""
    ids = list(job_ids)
    rows = Job.objects.filter(id__in=ids, state=State.PENDING, hold=why)
    # A job is held for overlap once it is due, by the clock of whoever said so; another's may be behind.
    timed = why not in (Hold.LATER, Hold.OVERLAP)
    later = rows.filter(due_at__gt=now).update(hold=Hold.LATER) if timed else 0
    ready = rows.filter(due_at__lte=now) if why is Hold.LATER else rows
    back: Any = Hold.NONE
    if why in (Hold.LATER, Hold.TENANT):
        back = Case(When(_TO_DECIDE, then=Value(Hold.OVERLAP)), default=Value(Hold.NONE))
    return later + ready.update(hold=back, preempted_by=None, updated_at=now, revision=F("revision") + 1)
