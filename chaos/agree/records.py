"""Every run in the file is known to the rows under the same lease, as the same attempt, with the same outcome."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.agree.facts import Facts, name
from tasks.states import FINAL

TRIED = ("retry", "fail")
"""Moves that charge a failed attempt."""

TAKEN_BACK = ("lose", "crash", "interrupt", "stop")
"""Moves that may end a run whose work is done in the file: the word of it did not arrive."""


def leases(facts: Facts) -> Iterator[str]:
    """Each lease starts once, and none is made up."""
    for job in facts.rows.values():
        for run in facts.of(job):
            if run.starts > 1:
                yield f"{name(job)} started {run.starts} times under lease {run.lease}"
            if run.lease > job.lease:
                yield f"{name(job)} ran under lease {run.lease}, which no row has given"


def attempts(facts: Facts) -> Iterator[str]:
    """No attempt beyond the budget, and the file counts as the rows do."""
    for job in facts.rows.values():
        for run in facts.of(job):
            number = run.first.attempt
            if number > job.max_attempts:
                yield f"{name(job)} made attempt {number} of {job.max_attempts}"
            record = facts.record(job, run.lease)
            if record is not None and record.number != number:
                yield f"{name(job)} ran as attempt {number} under lease {run.lease}; its record says {record.number}"
        fails = sum(line.what == "fail" for run in facts.of(job) for line in run.lines)
        if fails > max(job.failures, job.max_attempts):
            yield f"{name(job)} failed {fails} times with {job.max_attempts} attempts"


def known_runs(facts: Facts) -> Iterator[str]:
    """No run without a record, and none that is run again although its work was done and its end was written."""
    for job in facts.rows.values():
        runs = facts.of(job)
        newest = max((run.lease for run in runs), default=0)
        for run in runs:
            record = facts.record(job, run.lease)
            if record is None and job.state in FINAL:
                yield f"{name(job)} ran under lease {run.lease}, of which no record is left"
            elif record and run.ended and run.lease < newest and record.outcome not in TAKEN_BACK:
                yield f"{name(job)} ran again after its run under lease {run.lease} was done ({record.outcome})"


def charges(facts: Facts) -> Iterator[str]:
    """A failed attempt is charged to a run that failed in the file, and to no other."""
    for job in facts.rows.values():
        failed = {run.lease for run in facts.of(job) if any(line.what == "fail" for line in run.lines)}
        charged = {one.lease for one in facts.records.get(job.id, ()) if one.outcome in TRIED}
        for lease in sorted(charged - failed):
            yield f"{name(job)} was charged a failure under lease {lease}, which did not fail in the file"
        if job.failures > len(charged):
            yield f"{name(job)} counts {job.failures} failures; its records know {len(charged)}"
