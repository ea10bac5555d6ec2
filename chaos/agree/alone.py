"""Who must never work at the same time: exclusive jobs, those of one key, and two runs of one job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from chaos.agree.facts import Facts
from chaos.ledger import Line, Run
from tasks.models import Job

LISTENING = ("chaos.polite", "chaos.steps")
"""Jobs that look often whether to go on: a second run of one must not begin before the first has noticed."""


def never_together(facts: Facts) -> Iterator[str]:
    """No two runs of one domain overlap, except what was frozen and is thawed, for a moment."""
    domains: dict[str, list[Run]] = defaultdict(list)
    for job in facts.rows.values():
        for domain in _domains(job):
            domains[domain] += facts.of(job)
    for domain, runs in domains.items():
        yield from _overlaps(facts, domain, runs)


def _domains(job: Job) -> Iterator[str]:
    if job.concurrency_key:
        yield f"key {job.concurrency_key}"
    elif job.exclusive:
        yield "exclusive"
    elif job.job_type in LISTENING:
        yield f"runs of {job.id}"


def _overlaps(facts: Facts, domain: str, runs: list[Run]) -> Iterator[str]:
    spans = []
    for run in runs:
        lines, late = _awake(facts, run)
        if late > facts.scale.lease / 2:
            yield f"{domain}: a thawed run of {run.job} worked on for {late:.2f} s"
        spans.append((lines[0].at, lines[-1].at, run))
    spans.sort(key=lambda span: span[0])
    latest, before = float("-inf"), None
    for since, until, run in spans:
        if before is not None and since < latest:
            yield (
                f"{domain}: {before.job} (lease {before.lease}) and {run.job} (lease {run.lease}) "
                f"ran together for {min(latest, until) - since:.3f} s"
            )
        if until > latest:
            latest, before = until, run


def _awake(facts: Facts, run: Run) -> tuple[list[Line], float]:
    """Its lines but for those after a thaw, and how long it worked on then: nothing can stop what is frozen."""
    for pid, since, until in facts.frozen:
        if run.last.pid == pid and run.first.at < since < run.last.at:
            return [line for line in run.lines if line.at <= since], run.last.at - until
    return run.lines, 0.0
