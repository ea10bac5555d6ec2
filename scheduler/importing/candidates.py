"""What an import found: what could become a schedule, and what cannot. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from scheduler.spec import ScheduleSpec


@dataclass(frozen=True, slots=True)
class Candidate:
    """``place``: where it stands (``line 7``, ``row 3``); ``text``: what stands there; ``remarks``: what of it is
    lost; ``row``: its primary key in a table that it comes from."""

    place: str
    text: str
    spec: ScheduleSpec
    remarks: tuple[str, ...] = ()
    row: int | None = None


@dataclass(frozen=True, slots=True)
class NotTaken:
    """What cannot become a schedule, and why."""

    place: str
    text: str
    reason: str


def position(place: str) -> int:
    """The number in a place, for sorting."""
    return int(place.rpartition(" ")[2])


@dataclass(slots=True)
class Found:
    """Everything that a source holds, in its order; ``remarks`` as (place, text)."""

    candidates: list[Candidate] = field(default_factory=list)
    refused: list[NotTaken] = field(default_factory=list)
    remarks: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Target:
    """The job that stands for a command or task of elsewhere."""

    job: str
    app_id: str = ""
    params: Mapping[str, Any] | None = None
    schedule_id: str = ""


class Mapped:
    """What a person said becomes of which command or task: patterns (``*`` stands for anything) and targets.

    The first pattern that fits counts, exact ones before others.
    """

    def __init__(self, targets: Mapping[str, Target]) -> None:
        self._targets = dict(targets)
        self._unused = set(targets)

    def find(self, name: str) -> Target | None:
        """The target of ``name``, or None."""
        fitting = [name] if name in self._targets else [each for each in self._targets if _fits(name, each)]
        if not fitting:
            return None
        self._unused.discard(fitting[0])
        return self._targets[fitting[0]]

    @property
    def unused(self) -> list[str]:
        """Patterns that nothing fitted so far: mistyped ones, most likely."""
        return sorted(self._unused)


def _fits(name: str, pattern: str) -> bool:
    # A bracket is a bracket here: commands have them more often than people mean a set of characters.
    return "*" in pattern and fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]"))


def with_id(spec: ScheduleSpec, taken: set[str]) -> ScheduleSpec:
    """The spec under an id that is not in ``taken``: its own, or that with ``-2``, ``-3``, …; it is taken then."""
    wanted, number = spec.id, 1
    while wanted in taken:
        number += 1
        wanted = f"{spec.id}-{number}"
    taken.add(wanted)
    return replace(spec, id=wanted)
