"""Every move of the table against every state, under the right lease and a wrong one: it lands whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import product
from typing import Any
from uuid import UUID

import pytest

from jobsplatform.testing import START
from tasks import transitions
from tasks.models import Job
from tasks.states import (
    ACTIVE,
    BY_NAME,
    FINAL,
    INTERRUPTIONS,
    MOVES,
    CancelReason,
    Cause,
    Hold,
    Role,
    State,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("frozen_clock")]

NOW = START + timedelta(minutes=1)
LATER = NOW + timedelta(seconds=90)
KEEP = timedelta(days=3)
WORKER = UUID(int=77)
ROW = dict[str, Any]
MakeJob = Callable[..., Job]

# -- how each move is made ---------------------------------------------------------------------------

t = transitions
LEASED: dict[str, Callable[[UUID, int], Any]] = {
    "resend": lambda job, lease: t.resend(job, lease, NOW),
    "hand_back": lambda job, lease: t.hand_back(job, lease, "why", NOW),
    "start": lambda job, lease: t.start(job, lease, NOW),
    "complete": lambda job, lease: t.complete(job, lease, NOW, purge_after=KEEP, result=[1], reason=""),
    "fail": lambda job, lease: t.fail(
        job, lease, NOW, purge_after=KEEP, used=True, cause=Cause.PANICKED, error="e"
    ),
    "retry": lambda job, lease: t.retry(job, lease, LATER, NOW, reason="failed", cause=Cause.HANDLER),
    "snooze": lambda job, lease: t.snooze(job, lease, LATER, NOW, reason="snoozed"),
    "interrupt": lambda job, lease: t.interrupt(job, lease, NOW, hold=Hold.NONE, reason="interrupted"),
    "lose": lambda job, lease: t.lose(job, lease, NOW, whole_worker=False, reason="lost"),
    "crash": lambda job, lease: t.crash(job, lease, NOW, purge_after=KEEP, whole_worker=True, reason="spent"),
    "wait": lambda job, lease: t.wait(job, lease, NOW, deadline=LATER, open_end=True, reason="deferred"),
    "pause": lambda job, lease: t.pause(job, lease, LATER, NOW, reason="quota"),
    "stop": lambda job, lease: t.stop(job, lease, NOW, purge_after=KEEP, reason="user"),
    "go_on": lambda job, lease: t.go_on(job, lease, NOW),
}
UNLEASED: dict[str, Callable[[UUID], Any]] = {
    "claim": lambda job: t.claim([job], WORKER, NOW),
    "cancel": lambda job: t.cancel(job, CancelReason.USER, NOW, purge_after=KEEP),
    "resume": lambda job: t.resume(job, NOW, "by hand"),
    "revive": lambda job: t.revive(job, NOW),
}
SETTLED = {
    "settle_completed": (State.COMPLETED, Cause.NONE),
    "settle_failed": (State.FAILED, Cause.TIMEOUT),
    "cancel": (State.CANCELLED, Cause.CANCELLED),
}

# -- what each move changes; everything else stays as it was -------------------------------------------

UNASKED: ROW = {"cancel_reason": "", "cancel_requested_at": None}
FREE: ROW = {"worker_id": None, "deadline_at": None}
AGAIN: ROW = {**UNASKED, **FREE, "dispatched_at": None, "hold": ""}
ENDED: ROW = {**FREE, "hold": "", "finished_at": NOW, "purge_at": NOW + KEEP, "open_end": False}
AFRESH: ROW = {"crashes": 0, "losses": 0}

EFFECTS: dict[str, Callable[[ROW], ROW]] = {
    "claim": lambda row: {
        "lease": row["lease"] + 1,
        "worker_id": WORKER,
        "dispatched_at": NOW,
        "preempted_by": None,
    },
    "resend": lambda row: {"lease": row["lease"] + 1, "dispatched_at": NOW, "pack": None, "solo": True},
    "hand_back": lambda row: {**AGAIN, "reason": "why"},
    "start": lambda row: {
        "started_at": NOW,
        "attempt": row["failures"] + 1,
        "deadline_at": None,
        "reason": "",
        "cause": "",
        "error": "",
        "error_type": "",
    },
    "complete": lambda row: {**ENDED, "result": [1], "reason": ""},
    "fail": lambda row: {**ENDED, "failures": row["failures"] + 1, "cause": Cause.PANICKED, "error": "e"},
    "retry": lambda row: {
        **AGAIN,
        **AFRESH,
        "hold": Hold.LATER,
        "due_at": LATER,
        "failures": row["failures"] + 1,
        "reason": "failed",
        "cause": Cause.HANDLER,
        "open_end": False,
    },
    "snooze": lambda row: {**AGAIN, **AFRESH, "hold": Hold.LATER, "due_at": LATER, "reason": "snoozed"},
    "interrupt": lambda row: {**AGAIN, "reason": "interrupted"},
    "lose": lambda row: {**AGAIN, "due_at": NOW, "crashes": row["crashes"] + 1, "reason": "lost"},
    "crash": lambda row: {**ENDED, "losses": row["losses"] + 1, "cause": Cause.CRASHED, "reason": "spent"},
    "wait": lambda row: {**FREE, "deadline_at": LATER, "open_end": True, "reason": "deferred"},
    "pause": lambda row: {**FREE, **UNASKED, "deadline_at": LATER, "reason": "quota"},
    "stop": lambda row: {**ENDED, "cause": Cause.CANCELLED, "reason": "user"},
    "go_on": lambda row: {**AGAIN, "due_at": NOW, "continuing": True, "reason": "continuation"},
    "cancel": lambda row: {
        **ENDED,
        "cause": Cause.CANCELLED,
        "reason": "user",
        "cancel_reason": CancelReason.USER,
        "cancel_requested_at": NOW,
    },
    "resume": lambda row: {**AGAIN, "due_at": NOW, "reason": "by hand"},
    "revive": lambda row: {
        **AGAIN,
        **AFRESH,
        "due_at": NOW,
        "failures": 0,
        "finished_at": None,
        "purge_at": None,
        "cause": "",
        "result": None,
        "continuing": False,
        "reason": "retried by hand",
    },
}


def whole(job_id: UUID) -> ROW:
    """Every column of a row."""
    return Job.objects.filter(id=job_id).values().get()


def moved(before: ROW, move: str, effects: ROW) -> ROW:
    """The row after a move that landed."""
    assert effects.keys() <= before.keys()
    target = BY_NAME[move].target
    return {**before, "updated_at": NOW, "revision": before["revision"] + 1, **effects, "state": target}


def in_use(make_job: MakeJob, state: State, **columns: Any) -> Job:
    """A row in ``state`` that has been through something, so that what a move clears can be seen."""
    had: ROW = {
        "lease": 4,
        "failures": 1,
        "attempt": 2,
        "crashes": 1,
        "losses": 2,
        "max_attempts": 5,
        "checkpoint": {"at": 3},
        "data": {"k": "v"},
        "progress_done": 2.0,
        "preempted_by": UUID(int=5),
        "error": "old" if state is not State.COMPLETED else "",
        "started_at": START,
        "first_started_at": START,
    }
    if state in (State.RUNNING, State.WAITING, State.PAUSED):
        had["deadline_at"] = START + timedelta(hours=1)
    return make_job(state, **{**had, **columns})


OFF = (0, -1, 1)  # its lease, an older one, one to come


@pytest.mark.parametrize("move", LEASED)
def test_a_move_under_a_lease(make_job: MakeJob, move: str) -> None:
    for state, off in product(State, OFF):
        job = in_use(make_job, state)
        before = whole(job.id)
        answer = LEASED[move](job.id, job.lease + off)
        if off == 0 and state in BY_NAME[move].sources:
            assert answer, (state, off)
            assert whole(job.id) == moved(before, move, EFFECTS[move](before))
        else:
            assert not answer, (state, off)
            assert whole(job.id) == before


@pytest.mark.parametrize("move", UNLEASED)
def test_a_move_of_a_job_that_nobody_runs(make_job: MakeJob, move: str) -> None:
    for state in State:
        job = in_use(make_job, state)
        before = whole(job.id)
        answer = UNLEASED[move](job.id)
        if state in BY_NAME[move].sources:
            assert answer, state
            assert whole(job.id) == moved(before, move, EFFECTS[move](before))
        else:
            assert not answer, state
            assert whole(job.id) == before


@pytest.mark.parametrize("move", SETTLED)
def test_an_alias_is_settled_as_its_leader_ended(make_job: MakeJob, move: str) -> None:
    end, cause = SETTLED[move]
    leader = make_job(end, dedupe_key="k", cause=cause, reason="so")
    other = in_use(make_job, State.PENDING, dedupe_key="other", role=Role.ALIAS, hold=Hold.ALIAS)
    beside = whole(other.id)
    for state in State:
        part = Role.ALIAS if state in FINAL or state is State.PENDING else Role.NONE
        alias = in_use(make_job, state, dedupe_key="k", role=part, leader_id=leader.id)
        before = whole(alias.id)
        done = transitions.settle_aliases(leader, NOW, KEEP)
        if state is State.PENDING:
            assert done == 1
            assert whole(alias.id) == moved(before, move, {**ENDED, "reason": "so", "cause": cause})
        else:
            assert done == 0, state
            assert whole(alias.id) == before
    assert whole(other.id) == beside


def test_every_move_of_the_table_is_tried() -> None:
    assert set(LEASED) | set(UNLEASED) | set(SETTLED) == {move.name for move in MOVES}


@pytest.mark.parametrize("move", [*LEASED, *UNLEASED])
def test_a_job_that_is_not_there_is_not_moved(move: str) -> None:
    nobody = UUID(int=1)
    assert not (LEASED[move](nobody, 4) if move in LEASED else UNLEASED[move](nobody))


# -- conditions beside state and lease ---------------------------------------------------------------


@pytest.mark.parametrize("move", ["complete", "wait"])
@pytest.mark.parametrize("reason", [r for r in CancelReason if r])
def test_a_cancel_comes_before_the_end_of_the_work(
    make_job: MakeJob, move: str, reason: CancelReason
) -> None:
    job = in_use(make_job, State.RUNNING, cancel_reason=reason, cancel_requested_at=START)
    before = whole(job.id)
    assert not LEASED[move](job.id, job.lease)
    assert whole(job.id) == before


@pytest.mark.parametrize("move", ["retry", "snooze", "interrupt", "lose", "pause"])
def test_a_request_to_stop_ends_with_its_run(make_job: MakeJob, move: str) -> None:
    job = in_use(make_job, State.RUNNING, cancel_reason=CancelReason.SHUTDOWN, cancel_requested_at=START)
    before = whole(job.id)
    assert LEASED[move](job.id, job.lease)
    assert whole(job.id) == moved(before, move, {**EFFECTS[move](before), **UNASKED})


def test_a_run_that_resumes_keeps_its_progress(make_job: MakeJob) -> None:
    job = in_use(make_job, State.DISPATCHED)
    assert transitions.start(job.id, job.lease, NOW)
    assert whole(job.id)["progress_done"] == 2.0


def test_a_run_from_the_beginning_starts_with_no_progress(make_job: MakeJob) -> None:
    job = in_use(make_job, State.DISPATCHED, checkpoint=None, progress_total=4.0, progress_label="half")
    assert transitions.start(job.id, job.lease, NOW)
    after = whole(job.id)
    assert [after[f"progress_{name}"] for name in ("done", "total", "label", "at")] == [None, None, "", None]


def test_a_run_is_limited_under_its_lease(make_job: MakeJob) -> None:
    job = in_use(make_job, State.RUNNING)
    assert not transitions.limit_run(job.id, job.lease - 1, LATER)
    assert transitions.limit_run(job.id, job.lease, LATER)
    assert whole(job.id)["deadline_at"] == LATER


@pytest.mark.parametrize("hold", [h for h in Hold if h])
def test_what_is_held_is_not_claimed(make_job: MakeJob, hold: Hold) -> None:
    job = make_job(hold=hold)
    before = whole(job.id)
    assert transitions.claim([job.id], WORKER, NOW) == []
    assert whole(job.id) == before


def test_a_claim_gives_each_job_a_lease_of_its_own(make_job: MakeJob) -> None:
    fresh, used, busy = make_job(), in_use(make_job, State.PENDING), in_use(make_job, State.RUNNING)
    won = transitions.claim([fresh.id, used.id, busy.id], WORKER, NOW)
    assert {job.id: job.lease for job in won} == {fresh.id: 1, used.id: 5}


@pytest.mark.parametrize("child", State)
def test_a_parent_goes_on_once_no_child_is_open(make_job: MakeJob, child: State) -> None:
    parent = in_use(make_job, State.WAITING)
    make_job(State.COMPLETED, parent=parent, child_key="a")
    make_job(child, parent=parent, child_key="b")
    before = whole(parent.id)
    assert transitions.go_on(parent.id, parent.lease, NOW) == (child in FINAL)
    assert (whole(parent.id) == before) == (child in ACTIVE)


def test_a_deferred_job_does_not_go_on_by_itself(make_job: MakeJob) -> None:
    job = in_use(make_job, State.WAITING, open_end=True)
    assert not transitions.go_on(job.id, job.lease, NOW)


@pytest.mark.parametrize("used", [False, True])
def test_a_failure_uses_an_attempt_only_when_it_is_the_runs(make_job: MakeJob, used: bool) -> None:
    job = in_use(make_job, State.WAITING)
    assert transitions.fail(job.id, job.lease, NOW, purge_after=None, used=used, cause=Cause.HANDLER)
    after = whole(job.id)
    assert (after["failures"], after["purge_at"]) == (job.failures + used, None)


@pytest.mark.parametrize("whole_worker", [False, True])
@pytest.mark.parametrize("move", ["lose", "crash"])
def test_a_death_counts_on_one_budget(make_job: MakeJob, move: str, whole_worker: bool) -> None:
    job = in_use(make_job, State.RUNNING)
    more: ROW = {"purge_after": KEEP} if move == "crash" else {}
    assert getattr(transitions, move)(job.id, job.lease, NOW, whole_worker=whole_worker, **more)
    after = whole(job.id)
    counted = (job.crashes + (not whole_worker), job.losses + whole_worker)
    assert (after["crashes"], after["losses"], after["failures"]) == (*counted, job.failures)


@pytest.mark.parametrize(
    ("due", "hold"), [(NOW, Hold.NONE), (NOW - timedelta(seconds=1), Hold.NONE), (LATER, Hold.LATER)]
)
def test_a_job_for_later_is_out_of_the_claims_way(make_job: MakeJob, due: datetime, hold: Hold) -> None:
    job = in_use(make_job, State.RUNNING)
    assert transitions.retry(job.id, job.lease, due, NOW)
    assert (whole(job.id)["due_at"], whole(job.id)["hold"]) == (due, hold)


# -- writes beside the state -------------------------------------------------------------------------

BESIDE: dict[str, tuple[Callable[[UUID, int], Any], ROW]] = {
    "progress": (
        lambda job, lease: t.progress(job, lease, 1, 2, "half", NOW),
        {"progress_done": 1.0, "progress_total": 2.0, "progress_label": "half", "progress_at": NOW},
    ),
    "checkpoint": (
        lambda job, lease: t.checkpoint(job, lease, {"at": 9}, NOW),
        {"checkpoint": {"at": 9}, "crashes": 0, "losses": 0},
    ),
    "merge_data": (
        lambda job, lease: t.merge_data(job, lease, {"n": 1}, NOW),
        {"data": {"k": "v", "n": 1}},
    ),
    "note_children": (
        lambda job, lease: t.note_children(job, lease, True, NOW),
        {"ignore_child_failures": True, "spawned": True},
    ),
}


@pytest.mark.parametrize("name", BESIDE)
def test_a_run_writes_under_its_lease_alone(make_job: MakeJob, name: str) -> None:
    write, effects = BESIDE[name]
    for state, off in product(State, OFF):
        job = in_use(make_job, state)
        before = whole(job.id)
        answer = write(job.id, job.lease + off)
        if off == 0 and state is State.RUNNING:
            assert answer
            changed = {**effects, "updated_at": NOW, "revision": before["revision"] + 1}
            assert whole(job.id) == {**before, **changed}
        else:
            assert not answer, (state, off)
            assert whole(job.id) == before


@pytest.mark.parametrize("new", [r for r in CancelReason if r])
def test_who_may_ask_a_run_to_stop(make_job: MakeJob, new: CancelReason) -> None:
    """The first asker's reason stays, but the word of somebody who wants an end outranks an interruption."""
    by = UUID(int=6)
    asking = {"cancel_reason": new, "cancel_requested_at": NOW, "preempted_by": by, "updated_at": NOW}
    for state, asked in product(State, CancelReason):
        job = in_use(make_job, state, cancel_reason=asked, cancel_requested_at=START if asked else None)
        before = whole(job.id)
        answer = transitions.ask_to_stop(job.id, new, NOW, by=by)
        weaker = not asked or (asked in INTERRUPTIONS and new not in INTERRUPTIONS)
        assert answer == (state is State.RUNNING and weaker), (state, asked)
        changed = {**asking, "revision": before["revision"] + 1} if answer else {}
        assert whole(job.id) == {**before, **changed}


def test_only_claimable_rows_are_held_and_only_for_their_reason_let_go(make_job: MakeJob) -> None:
    for state in State:
        job = make_job(state)
        assert transitions.hold([job.id], Hold.KEY, NOW) == (state is State.PENDING)
        assert transitions.hold([job.id], Hold.TENANT, NOW) == 0
        assert transitions.unhold([job.id], Hold.TENANT, NOW) == 0
        assert whole(job.id)["hold"] == (Hold.KEY if state is State.PENDING else "")
        assert transitions.unhold([job.id], Hold.KEY, NOW) == (state is State.PENDING)
        assert (whole(job.id)["hold"], whole(job.id)["state"]) == ("", state)


def test_a_row_let_go_before_its_time_waits_for_it(make_job: MakeJob) -> None:
    job = make_job(hold=Hold.TENANT, due_at=LATER)
    assert transitions.unhold([job.id], Hold.TENANT, NOW)
    assert whole(job.id)["hold"] == Hold.LATER


def test_the_first_start_is_remembered_once(make_job: MakeJob) -> None:
    job = make_job(State.DISPATCHED)
    assert transitions.start(job.id, job.lease, NOW)
    assert transitions.interrupt(job.id, job.lease, NOW)
    (again,) = transitions.claim([job.id], WORKER, NOW)
    assert transitions.start(job.id, again.lease, LATER)
    assert (whole(job.id)["first_started_at"], whole(job.id)["started_at"]) == (NOW, LATER)


def test_only_a_waiting_follower_is_promoted(make_job: MakeJob) -> None:
    holds = {Role.ALIAS: Hold.ALIAS, Role.SUCCESSOR: Hold.SUCCESSOR}
    for part, state in product(Role, [State.PENDING, *sorted(FINAL)]):
        hold = holds.get(part, Hold.NONE) if state is State.PENDING else Hold.NONE
        job = make_job(state, dedupe_key=f"{part} {state}", role=part, hold=hold)
        before = whole(job.id)
        may = part in holds and state is State.PENDING
        assert transitions.promote(job.id, NOW) == may, (part, state)
        after = whole(job.id)
        if may:
            assert (after["role"], after["hold"], after["leader_id"]) == (Role.LEADER, "", None)
        else:
            assert after == before
