"""What must hold of the tables, whatever has happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from tasks.states import ACTIVE, FINAL, IN_FLIGHT, CancelReason, State, is_legal
from tests.database.lease_model.world import (
    CAPS,
    ENDS,
    KEY_LIMIT,
    TYPE_LIMITS,
    WRITES,
    Everything,
    Rows,
    Run,
    difference,
    everything,
)


def unchanged(before: Everything, by: str) -> None:
    """Nothing at all has been written."""
    after = everything()
    assert after == before, f"a stale write landed ({by}): {difference(before, after)}"


def lands_only_if_held(run: Run, write: Callable[[Run], Any], what: str) -> None:
    """A run's write is accepted under the lease that the job has now, and changes nothing under any other."""
    held = run.held()
    before = everything()
    answer = write(run)
    if held:
        assert answer, f"{what} was refused though {run} holds its job"
        assert everything() != before, f"{what} of {run} was accepted and not written"
    else:
        unchanged(before, f"{what} of {run}")
        assert not answer, f"{what} of {run} was accepted without a lease"


def haunts(zombie: Run) -> None:
    """A run whose lease is gone tries everything; nothing is accepted, and nothing changed."""
    before = everything()
    for what, write in {**WRITES, **ENDS}.items():
        if write(zombie):
            unchanged(before, f"{what} of {zombie}")
            raise AssertionError(f"{what} of {zombie} was accepted without a lease")
    unchanged(before, f"something of {zombie}")


def nothing_lost(accepted: Iterable[object], now: Everything) -> None:
    """Every job that was accepted is in the table."""
    missing = set(accepted) - now[0].keys()
    assert not missing, f"accepted jobs are gone: {missing}"


def moves_are_legal(before: Everything, now: Everything, *, revived: bool) -> None:
    """Each row has stood still or made a legal move; what has ended does not change."""
    for job_id, old in before[0].items():
        new = now[0][job_id]
        if old["state"] in FINAL and new != old:
            again = revived and new["state"] == State.PENDING
            assert again, (
                f"an ended job changed: {difference(({job_id: old}, before[1]), ({job_id: new}, before[1]))}"
            )
        source, target = State(old["state"]), State(new["state"])
        assert source is target or is_legal(source, target), f"{job_id} went from {source} to {target}"
        assert new["lease"] >= old["lease"], f"{job_id}: lease {old['lease']} became {new['lease']}"
        if old["cancel_reason"] == CancelReason.USER and source is State.RUNNING:
            assert target in (State.RUNNING, State.CANCELLED), f"{job_id} was cancelled and became {target}"
        if target is State.COMPLETED and source is not target:
            _completes_rightly(job_id, old, now[0])
    for new in now[0].values():
        assert new["failures"] <= new["max_attempts"], f"{new['id']} used more attempts than it has"


def _completes_rightly(job_id: UUID, old: Mapping[str, Any], rows: Rows) -> None:
    assert not old["cancel_reason"], f"{job_id} was cancelled and became completed"
    children = [row["state"] for row in rows.values() if row["parent_id"] == job_id]
    assert not ACTIVE & set(children), f"parent {job_id} completed before its children"


def limits_hold(now: Everything, slots: Mapping[UUID, int]) -> None:
    """No worker, queue, type or key has more in flight than it may."""
    flying = [row for row in now[0].values() if row["state"] in IN_FLIGHT]
    _at_most(Counter(row["worker_id"] for row in flying), slots, "worker")
    _at_most(Counter(row["queue"] for row in flying), CAPS, "queue")
    _at_most(Counter(row["handler_key"] for row in flying), TYPE_LIMITS, "type")
    keys = Counter(row["concurrency_key"] for row in flying if row["concurrency_key"])
    _at_most(keys, dict.fromkeys(keys, KEY_LIMIT), "key")


def _at_most(counts: Mapping[Any, int], limits: Mapping[Any, int], what: str) -> None:
    for name, limit in limits.items():
        assert counts.get(name, 0) <= limit, (
            f"too many in flight: {what} {name} has {counts[name]} of {limit}"
        )


def one_attempt_a_run(runs: Iterable[Run], now: Everything) -> None:
    """Each run that has ended is recorded once; the one that a job has now is not yet; nothing else is."""
    rows, attempts = now
    current = {(r["id"], r["lease"]) for r in rows.values() if r["state"] == State.RUNNING}
    begun = {(run.job_id, run.lease) for run in runs}
    assert current <= begun, f"running, but never begun: {current - begun}"
    assert attempts == begun - current, f"attempts and runs differ: {attempts ^ (begun - current)}"
