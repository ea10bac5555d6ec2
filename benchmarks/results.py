"""Rows of the result: figures of ours and of others, their ratios, and whether the target was met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks.numbers import significant


@dataclass(frozen=True, slots=True)
class Bound:
    """One demand on our figure: at least or at most ``value``, times the figure of ``of`` when it is given."""

    sense: str  # ">=" or "<="
    value: float
    of: str = ""

    def __post_init__(self) -> None:
        if self.sense not in (">=", "<="):
            raise ValueError(f"a bound is >= or <=, not {self.sense!r}")

    def __str__(self) -> str:
        sign = "≥" if self.sense == ">=" else "≤"
        return f"{sign} {self.value:g} × {self.of}" if self.of else f"{sign} {self.value:g}"

    def met(self, ours: float | None, rivals: Mapping[str, float]) -> bool | None:
        """Whether ``ours`` keeps it; None while a figure that it needs is missing."""
        if ours is None or (self.of and self.of not in rivals):
            return None
        limit = self.value * rivals[self.of] if self.of else self.value
        return ours >= limit if self.sense == ">=" else ours <= limit


@dataclass(frozen=True, slots=True)
class Metric:
    """What a row shows. ``better``: higher or lower. ``counted``: by what it was counted or timed."""

    name: str
    unit: str
    better: str
    counted: str
    bounds: tuple[Bound, ...] = ()

    @property
    def target(self) -> str:
        return ", ".join(map(str, self.bounds))


@dataclass(slots=True)
class Row:
    """One metric with the figures of every round. ``why``: for each system without a figure, the reason."""

    metric: Metric
    ours: list[float] = field(default_factory=list)
    rivals: dict[str, list[float]] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)

    @property
    def our_figure(self) -> float | None:
        """The median of our rounds; None when one of them failed."""
        return _figure(self.ours, self.why.get("ours"))

    @property
    def is_complete(self) -> bool:
        """Whether every figure of the row was measured."""
        return not self.why and self.our_figure is not None and len(self.rival_figures) == len(self.rivals)

    @property
    def rival_figures(self) -> dict[str, float]:
        found = {name: _figure(values, self.why.get(name)) for name, values in self.rivals.items()}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def ratios(self) -> dict[str, float]:
        """Ours divided by theirs, whatever is better."""
        ours = self.our_figure
        if ours is None:
            return {}
        return {name: ours / value for name, value in self.rival_figures.items() if value}

    @property
    def met(self) -> bool | None:
        """Whether every bound is kept; None without a bound, or while a figure is missing."""
        answers = [bound.met(self.our_figure, self.rival_figures) for bound in self.metric.bounds]
        if not answers or (None in answers and False not in answers):
            return None
        return False not in answers

    def as_json(self) -> dict[str, Any]:
        """The row as ``--json`` prints it. A figure that was not measured is null, or left out."""
        ours = self.our_figure
        return {
            "name": self.metric.name,
            "unit": self.metric.unit,
            "ours": None if ours is None else significant(ours),
            "rivals": {name: significant(value) for name, value in self.rival_figures.items()},
            "ratios": {name: significant(value) for name, value in self.ratios.items()},
            "target": self.metric.target or None,
            "met": self.met,
        }


def _figure(values: list[float], why: str | None) -> float | None:
    return median(values) if values and why is None else None
