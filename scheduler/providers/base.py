"""What every schedule provider promises, and the one shape of what its rounds did."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from jobsplatform.kernel.bell import Bell
from scheduler.requests import ScheduleTriggerRequest, ScheduleTriggerResult, StepResult

RESULTS_KEPT = 10_000
"""A run that goes on for ever counts all it did, and keeps the results of so many slots."""


@dataclass
class RunReport:
    """What a run did, over all its rounds; ``as_dict`` is the JSON of ``manage.py scheduler``."""

    instance_id: str = ""
    tenant_id: str = ""
    iterations: int = 0
    checked: int = 0
    triggered: int = 0
    failed: int = 0
    results: list[ScheduleTriggerResult] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether no slot failed."""
        return self.failed == 0

    def add(self, step: StepResult) -> None:
        """Count one round."""
        self.iterations += 1
        self.checked += step.checked
        self.triggered += step.triggered
        self.failed += step.failed
        self._keep(step.results)

    def add_one(self, result: ScheduleTriggerResult) -> None:
        """Count one slot that was triggered by itself: a round of its own."""
        self.iterations += 1
        self.checked += 1
        self.triggered += result.ok and not result.replayed
        self.failed += not result.ok
        self._keep([result])

    def _keep(self, results: Iterable[ScheduleTriggerResult]) -> None:
        self.results.extend(results)
        del self.results[:-RESULTS_KEPT]

    def as_dict(self) -> dict[str, Any]:
        """Stable names, ids and instants as text."""
        return {
            "ok": self.ok,
            "tenant_id": self.tenant_id,
            "iterations": self.iterations,
            "checked": self.checked,
            "triggered": self.triggered,
            "failed": self.failed,
            "instance_id": self.instance_id,
            "schedule_results": [result.as_dict() for result in self.results],
        }


OnRound = Callable[[StepResult], None]


def ignore(step: StepResult) -> None:
    """The caller wants to know of no single round."""


class Triggering(Protocol):
    """Turns one slot (or "run now") into a decision. The link of a chain: locked around audited around manual."""

    def trigger(self, request: ScheduleTriggerRequest) -> ScheduleTriggerResult:
        """Decide; a slot that was decided before is replayed. Raises ScheduleNotFound,
        ScheduleTriggerConflict."""
        ...


class ScheduleProvider(Triggering, Protocol):
    """Who ticks. Every provider reads the same rows and submits through the tasks provider, and calls no handler."""

    name: str

    def run(
        self,
        *,
        bell: Bell,
        max_iterations: int | None = None,
        instance_id: str = "",
        on_round: OnRound = ignore,
    ) -> RunReport:
        """Tick in the calling thread until ``bell`` rings, or for so many rounds; what was done.

        Outages of the database, the broker and Redis are waited for. After the ring it returns within
        seconds, with its lock given back.
        """
        ...


class Chained:
    """The half of a provider that triggers: audited around locked around manual, or what it is given."""

    def __init__(self, chain: Triggering) -> None:
        self._chain = chain

    def trigger(self, request: ScheduleTriggerRequest) -> ScheduleTriggerResult:
        """Decide the slot of ``request``, or run its schedule now. Raises ScheduleNotFound,
        ScheduleTriggerConflict."""
        return self._chain.trigger(request)
