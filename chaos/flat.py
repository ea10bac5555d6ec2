"""Does the platform stay as large as it was? Memory, open files and connections, looked at in quiet moments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

import psutil

FEWEST = 9
"""Samples of one process, below which nothing can be said."""

GROWTH = {"MiB": (1.15, 8.0), "open files": (1.0, 8.0), "connections": (1.0, 8.0)}
"""What the last third may have more than the middle one: a factor, and so many on top. The first is warming up."""


@dataclass(frozen=True, slots=True)
class Trend:
    """One quantity of one process, or of the database: its medians in the middle and in the last third."""

    of: str
    unit: str
    samples: int
    middle: float
    last: float

    @property
    def flat(self) -> bool:
        factor, more = GROWTH[self.unit]
        return self.last <= self.middle * factor + more

    def __str__(self) -> str:
        verdict = "flat" if self.flat else "GROWS"
        return f"{self.of}, {self.unit}: {self.middle:.0f}, then {self.last:.0f} ({self.samples} samples): {verdict}"


@dataclass(slots=True)
class Samples:
    """All samples of a soak."""

    values: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))

    def take(self, processes: dict[str, int], connections: int) -> None:
        """Look once. ``processes``: name and process id; one that has ended is left out."""
        for name, pid in processes.items():
            try:
                process = psutil.Process(pid)
                memory, files = process.memory_info().rss / 2**20, process.num_fds()
            except psutil.NoSuchProcess:
                continue
            self.values[f"{name} ({pid})", "MiB"].append(memory)
            self.values[f"{name} ({pid})", "open files"].append(files)
        self.values["PostgreSQL", "connections"].append(connections)

    def trends(self) -> list[Trend]:
        """What can be said; nothing of a process that did not live long enough."""
        return [
            _trend(of, unit, values)
            for (of, unit), values in sorted(self.values.items())
            if len(values) >= FEWEST
        ]


def _trend(of: str, unit: str, values: Sequence[float]) -> Trend:
    third = len(values) // 3
    return Trend(of, unit, len(values), median(values[third:-third]), median(values[-third:]))
