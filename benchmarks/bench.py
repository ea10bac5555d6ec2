"""Rounds: every system in turn, again and again, so that a busy moment of the machine strikes all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from benchmarks.errors import NotYet, reason_of
from benchmarks.results import Metric, Row
from benchmarks.session import Session, session
from benchmarks.sizes import Sizes
from benchmarks.stage import Stage
from benchmarks.systems.base import System

Measure = Callable[[Session], Mapping[str, float]]

TRIES = 3
"""Of what raises NotYet."""


@dataclass(slots=True)
class Figures:
    """What was measured: by system, then by metric, one value a round; and why some systems have none."""

    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)

    def add(self, system: str, measured: Mapping[str, float]) -> None:
        for metric, value in measured.items():
            self.values.setdefault(system, {}).setdefault(metric, []).append(value)

    def row(self, metric: Metric, rivals: Sequence[str], ours: str = "ours", key: str = "") -> Row:
        """The row of a metric; ``key``: the name under which it was measured, when that differs."""
        key = key or metric.name
        row = Row(metric, self._of(ours, key))
        for name in rivals:
            row.rivals[name] = self._of(name, key)
        for name in (ours, *rivals):
            if name in self.why:
                row.why["ours" if name == ours else name] = self.why[name]
        return row

    def _of(self, system: str, key: str) -> list[float]:
        return self.values.get(system, {}).get(key, [])


@dataclass(frozen=True, slots=True)
class Bench:
    """What a scenario works with."""

    stage: Stage
    sizes: Sizes
    rounds: int
    say: Callable[[str], None]

    def measure(
        self, title: str, systems: Sequence[System], measure: Measure, *, repeated: float = inf
    ) -> Figures:
        """All rounds of all systems. One that failed is not tried again; its reason is kept. One, but
        the first, that took more than ``repeated`` seconds is not measured in later rounds."""
        figures = Figures()
        slow: set[str] = set()
        for n in range(self.rounds):
            # Each round begins with another system: none always runs right after the same one.
            first = n % len(systems)
            for system in [*systems[first:], *systems[:first]]:
                if system.name in figures.why or system.name in slow:
                    continue
                began = time.monotonic()
                try:
                    measured = self._try(system, measure)
                except Exception as error:
                    figures.why[system.name] = reason_of(error)
                    self.say(f"{title}: {system.name}: not measured: {figures.why[system.name]}")
                    continue
                figures.add(system.name, measured)
                shown = ", ".join(f"{name} {value:.4g}" for name, value in measured.items())
                took = time.monotonic() - began
                if took > repeated and system is not systems[0]:
                    slow.add(system.name)
                self.say(f"{title}: round {n + 1} of {self.rounds}: {system.name}: {shown} ({took:.0f} s)")
        return figures

    def _try(self, system: System, measure: Measure) -> Mapping[str, float]:
        for _ in range(TRIES - 1):
            try:
                with session(self.stage, system) as opened:
                    return measure(opened)
            except NotYet as reason:
                self.say(f"{system.name}: once more: {reason}")
        with session(self.stage, system) as opened:
            return measure(opened)
