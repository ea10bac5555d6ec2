"""Totals of ended runs, in the shape of Prometheus histograms. Pure: rows in, numbers out."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from scheduler.lateness import Lateness
from tasks.states import Priority

# Upper bounds in seconds; the last one, infinity, is implied.
BOUNDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 1800.0, 7200.0)
MOST_TYPES = 200
"""Job types with a label of their own; later ones share ``other``, so that the page stays small."""
OTHER = "other"

_CLASSES = (
    (Priority.URGENT, "urgent"),
    (Priority.USER_ACTION, "user_action"),
    (Priority.NORMAL, "normal"),
)


def priority_class(priority: int) -> str:
    """The named step at or below a priority: a bounded label for any number."""
    return next((name for step, name in _CLASSES if priority >= step), "background")


@dataclass(slots=True)
class Histogram:
    """How many observations fell under each bound, and their sum in seconds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    total: float = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds

    def cumulative(self) -> list[tuple[str, float]]:
        """``[("0.005", n), …, ("+Inf", n)]``, each including those before it."""
        so_far, result = 0, []
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self.counts, strict=True):
            so_far += count
            result.append((bound, float(so_far)))
        return result


@dataclass(frozen=True, slots=True)
class Run:
    """What an ended run adds to the totals; ``outcome`` is the name of the move that ended it."""

    job_type: str
    priority: int
    outcome: str
    started_at: datetime
    finished_at: datetime
    due_at: datetime
    cancel_requested_at: datetime | None = None
    lateness: Lateness | None = None


@dataclass(slots=True)
class Totals:
    """All of it. Labels are (job type, priority class), for ``ended`` also the move that ended the run; of
    ``lateness`` they are the parts of the way from a slot to the start of its job, and ``total``."""

    ended: dict[tuple[str, str, str], int] = field(default_factory=dict)
    run: dict[tuple[str, str], Histogram] = field(default_factory=dict)
    wait: dict[tuple[str, str], Histogram] = field(default_factory=dict)
    cancel: Histogram = field(default_factory=Histogram)
    lateness: dict[str, Histogram] = field(default_factory=dict)
    types: set[str] = field(default_factory=set)

    def add(self, run: Run) -> None:
        """Count one run.

        The wait is known for a job's latest run only: after a retry the row holds the next due time, which
        lies behind the start.
        """
        labels = (self._label(run.job_type), priority_class(run.priority))
        key = (*labels, run.outcome)
        self.ended[key] = self.ended.get(key, 0) + 1
        _of(self.run, labels).observe(max((run.finished_at - run.started_at).total_seconds(), 0.0))
        waited = (run.started_at - run.due_at).total_seconds()
        if waited >= 0:
            _of(self.wait, labels).observe(waited)
        if run.outcome == "stop" and run.cancel_requested_at is not None:
            self.cancel.observe(max((run.finished_at - run.cancel_requested_at).total_seconds(), 0.0))
        if run.lateness is not None and run.lateness.total is not None:
            for part, seconds in (*run.lateness.parts(), ("total", run.lateness.total)):
                self.lateness.setdefault(part, Histogram()).observe(max(seconds, 0.0))

    def lost(self) -> int:
        """Runs whose worker or process died."""
        return sum(count for key, count in self.ended.items() if key[2] in {"lose", "crash"})

    def as_json(self) -> dict[str, Any]:
        return {
            "ended": [[*key, count] for key, count in self.ended.items()],
            "run": [[*key, h.counts, h.total] for key, h in self.run.items()],
            "wait": [[*key, h.counts, h.total] for key, h in self.wait.items()],
            "cancel": [self.cancel.counts, self.cancel.total],
            "lateness": [[part, h.counts, h.total] for part, h in self.lateness.items()],
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Totals:
        """Back from ``as_json``. Other bounds than today's start their histograms anew."""
        totals = cls()
        for job_type, priority, outcome, count in stored.get("ended", ()):
            totals.ended[job_type, priority, outcome] = count
            totals.types.add(job_type)
        for name, target in (("run", totals.run), ("wait", totals.wait)):
            for job_type, priority, counts, total in stored.get(name, ()):
                if len(counts) == len(BOUNDS) + 1:
                    target[job_type, priority] = Histogram(list(counts), total)
        for part, counts, total in stored.get("lateness", ()):
            if len(counts) == len(BOUNDS) + 1:
                totals.lateness[part] = Histogram(list(counts), total)
        counts, total = stored.get("cancel") or ((), 0.0)
        if len(counts) == len(BOUNDS) + 1:
            totals.cancel = Histogram(list(counts), total)
        return totals

    def _label(self, job_type: str) -> str:
        if job_type in self.types:
            return job_type
        if len(self.types) >= MOST_TYPES:
            return OTHER
        self.types.add(job_type)
        return job_type


def _of(histograms: dict[tuple[str, str], Histogram], labels: tuple[str, str]) -> Histogram:
    found = histograms.get(labels)
    if found is None:
        found = histograms[labels] = Histogram()
    return found
