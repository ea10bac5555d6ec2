"""Does the platform stay as large as it was? Memory, open files and connections, looked at in quiet moments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

import psutil

FEWEST = 9
"""Samples of one quantity, below which nothing can be said."""

MIB, FILES, CONNECTIONS = "MiB", "open files", "connections"
GROWTH = {MIB: (1.10, 4.0), FILES: (1.0, 4.0), CONNECTIONS: (1.0, 4.0)}
"""What the last third may have more than the middle one: a factor, and so many on top. The first is warming up."""


@dataclass(frozen=True, slots=True)
class Trend:
    """One quantity of one process, or of a server: its medians in the middle and in the last third."""

    of: str
    unit: str
    samples: int
    middle: float
    last: float
    per_hour: float
    """The slope between the two."""

    @property
    def flat(self) -> bool:
        factor, more = GROWTH[self.unit]
        return self.last <= self.middle * factor + more

    def __str__(self) -> str:
        verdict = "flat" if self.flat else "GROWS"
        return (
            f"{self.of}, {self.unit}: {self.middle:.1f}, then {self.last:.1f} "
            f"({self.per_hour:+.1f} an hour, {self.samples} samples): {verdict}"
        )

    def facts(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {**asdict(self), "flat": self.flat}


@dataclass(slots=True)
class Samples:
    """All samples of a soak: (seconds since the beginning, value)."""

    values: dict[tuple[str, str], list[tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def take(self, at: float, processes: Mapping[str, int], connections: Mapping[str, int]) -> None:
        """Look once. ``processes``: name and id of those that are looked at with their children; one that has ended
        is left out. ``connections``: of each server."""
        for name, pid in processes.items():
            try:
                process = psutil.Process(pid)
                own = f"{name} ({pid})"
                self._add(own, at, *_size([process]))
                if children := process.children(recursive=True):
                    self._add(f"{own}, its children", at, *_size(children))
            except psutil.NoSuchProcess:
                continue
        for server, count in connections.items():
            self.values[server, CONNECTIONS].append((at, count))

    def _add(self, of: str, at: float, memory: float, files: int) -> None:
        self.values[of, MIB].append((at, memory))
        self.values[of, FILES].append((at, files))

    def trends(self) -> list[Trend]:
        """What can be said; nothing of a process that did not live long enough."""
        return [
            _trend(of, unit, values)
            for (of, unit), values in sorted(self.values.items())
            if len(values) >= FEWEST
        ]


def _size(processes: Sequence[psutil.Process]) -> tuple[float, int]:
    """MiB in use, what is shared counted in parts (PSS), and open files."""
    memory = sum(process.memory_full_info().pss for process in processes) / 2**20
    return memory, sum(process.num_fds() for process in processes)


def _trend(of: str, unit: str, values: Sequence[tuple[float, float]]) -> Trend:
    third = len(values) // 3
    middle, last = values[third:-third], values[-third:]
    hours = (median(at for at, _ in last) - median(at for at, _ in middle)) / 3600
    before, after = median(value for _, value in middle), median(value for _, value in last)
    return Trend(of, unit, len(values), before, after, (after - before) / hours if hours > 0 else 0.0)
