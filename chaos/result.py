"""What came of one fault, and how it is told."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table. ``jobs`` and ``runs`` are counted, never planned. ``kept``: where logs and file are."""

    name: str
    shows: str
    jobs: int
    runs: int
    seconds: float
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    kept: str = ""

    @property
    def holds(self) -> bool:
        return not self.problems

    def facts(self) -> dict[str, Any]:
        """As JSON takes it."""
        return asdict(self)

    @classmethod
    def of(cls, facts: dict[str, Any]) -> Self:
        """The result that these ``facts`` are of."""
        return cls(**facts)


def line(result: Result) -> str:
    """The result in one line, and one more for each broken promise."""
    told = f"{'holds ' if result.holds else 'BROKEN'}  {result.name}"
    facts = f"{result.jobs} jobs, {result.runs} runs, {result.seconds:.1f} s"
    words = [f"{told}: {facts}{'; ' if result.notes else ''}{'; '.join(result.notes)}"]
    words += [f"        {problem}" for problem in result.problems]
    return "\n".join(words + ([f"        logs and file: {result.kept}"] if result.kept else []))
