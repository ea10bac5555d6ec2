"""What must come after what: starts after due times, none after a cancel, parents after children, steps in order."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.agree.facts import Facts, name
from chaos.ledger import Line
from tasks.models import Job
from tasks.states import State

EARLY_SECONDS = 0.1
"""How far a worker's reading of the database's clock may be off: half a round trip on a machine that is busy."""


def cancels(facts: Facts) -> Iterator[str]:
    """Nothing starts after its cancel was accepted; one that ran then does not run again."""
    for job_id, cancel in facts.accepted.cancelled.items():
        for run in facts.runs.get(str(job_id), []):
            late = run.lease > cancel.lease if cancel.running else run.first.at > cancel.at
            if late:
                yield f"job {job_id} started {run.first.at - cancel.at:.3f} s after its cancel"


def due_times(facts: Facts) -> Iterator[str]:
    """Nothing starts before it is due."""
    for job_id, at in facts.accepted.due.items():
        for run in facts.runs.get(str(job_id), []):
            if run.first.at < at - EARLY_SECONDS:
                yield f"job {job_id} started {at - run.first.at:.3f} s before it was due"


def families(facts: Facts) -> Iterator[str]:
    """A parent has the children that it asked for, and its continuation runs once, after all of them."""
    for parent in facts.rows.values():
        if parent.job_type != "chaos.parent" or parent.state != State.COMPLETED:
            continue
        children = facts.children.get(parent.id, [])
        if len(children) != parent.params["children"]:
            yield f"{name(parent)} has {len(children)} children, it asked for {parent.params['children']}"
        begun = [line.at for run in facts.of(parent) for line in run.lines if line.what == "gather"]
        if not begun:
            yield f"{name(parent)} is completed, and its continuation did not run"
            continue
        for child in children:
            done = [line.at for run in facts.of(child) if run.lease == child.lease for line in run.lines]
            if child.state == State.COMPLETED and done and min(begun) < done[-1]:
                yield f"{name(parent)} went on {done[-1] - min(begun):.3f} s before its child {child.id} had ended"


def steps(facts: Facts) -> Iterator[str]:
    """A job with checkpoints goes on behind the last saved one, and leaves no step out."""
    for job in facts.rows.values():
        if job.job_type == "chaos.steps":
            lines = sorted((line for run in facts.of(job) for line in run.lines), key=lambda line: line.at)
            yield from _step_faults(job, lines)


def _step_faults(job: Job, lines: list[Line]) -> Iterator[str]:
    done: set[int] = set()
    saved: dict[int, int] = {}
    for line in lines:
        if line.what == "saved":
            saved[line.lease] = int(line.note)
        elif line.what == "step":
            number = int(line.note)
            done.add(number)
            # A frozen run that is thawed knows nothing of what the run after it has saved.
            if number <= max((last for lease, last in saved.items() if lease <= line.lease), default=0):
                yield f"{name(job)} did step {number} again, which it had saved"
    if job.state == State.COMPLETED and done != set(range(1, job.params["count"] + 1)):
        yield f"{name(job)} is completed with the steps {sorted(done)} of {job.params['count']}"
