"""Where the time between a slot and the start of its job went. Pure.

due → decided → ready → published → started. ``ready`` lies after ``decided`` only where the timetable wants it so
(jitter): that wait is asked for and is told apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

PARTS = ("due_to_decided", "delayed", "decided_to_published", "published_to_started")


@dataclass(frozen=True, slots=True)
class Lateness:
    """The instants of one slot. What has not happened, or is not known any more, is None.

    Each part is in seconds; the parts that are known add up to ``total`` exactly once the job has started and its
    message's time is known.
    """

    planned_at: datetime
    decided_at: datetime
    ready_at: datetime
    published_at: datetime | None = None
    started_at: datetime | None = None

    @property
    def due_to_decided(self) -> float:
        """From the slot to its decision."""
        return (self.decided_at - self.planned_at).total_seconds()

    @property
    def delayed(self) -> float:
        """Wanted: the slot's jitter."""
        return (self.ready_at - self.decided_at).total_seconds()

    @property
    def decided_to_published(self) -> float | None:
        """From when it might have started until a worker took it and its message went out."""
        return None if self.published_at is None else (self.published_at - self.ready_at).total_seconds()

    @property
    def published_to_started(self) -> float | None:
        """From the message to the beginning of the run."""
        if self.published_at is None or self.started_at is None:
            return None
        return (self.started_at - self.published_at).total_seconds()

    @property
    def total(self) -> float | None:
        """From the slot to the beginning of the first run."""
        return None if self.started_at is None else (self.started_at - self.planned_at).total_seconds()

    def parts(self) -> Iterator[tuple[str, float]]:
        """The parts that are known, in their order."""
        for name in PARTS:
            value = getattr(self, name)
            if value is not None:
                yield name, value


def lateness(
    planned_at: datetime,
    decided_at: datetime,
    run_after: datetime | None = None,
    dispatched_at: datetime | None = None,
    first_started_at: datetime | None = None,
) -> Lateness:
    """From the columns of a job: ``decided_at`` is when it was made, or ``triggered_at`` of its log row.

    After a retry a job tells when its latest message went out, not its first: then that part is not known.
    """
    published = dispatched_at
    if published is not None and first_started_at is not None and published > first_started_at:
        published = None
    return Lateness(
        planned_at, decided_at, max(decided_at, run_after or decided_at), published, first_started_at
    )
