"""Which schedules the code of this process declares. Changes copy the table, so that lookups take no lock."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from scheduler.errors import DuplicateSchedule
from scheduler.spec import ScheduleSpec


@dataclass(frozen=True, slots=True)
class Declared:
    """A schedule of the code: what it should be, in which module, and where (``file:line``)."""

    spec: ScheduleSpec
    module: str
    place: str

    @property
    def id(self) -> str:
        return str(self.spec.id)


class ScheduleRegistry:
    """The declared schedules by their ids, each of which is declared once."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._declared: dict[str, Declared] = {}
        self._clashes: tuple[DuplicateSchedule, ...] = ()
        self._packages: tuple[str, ...] = ()

    def register(self, declared: Declared) -> None:
        """Make a schedule known. Raises DuplicateSchedule, naming both places, when its id is taken; the first one
        stays, and the clash is kept for the checks."""
        with self._changing:
            other = self._declared.get(declared.id)
            if other is None:
                self._declared = {**self._declared, declared.id: declared}
                return
            clash = DuplicateSchedule(str(declared.id), other.place, declared.place)
            self._clashes = (*self._clashes, clash)
        raise clash

    def unregister(self, schedule_id: str) -> Declared | None:
        """Forget a schedule, and give it back; None when there was none."""
        with self._changing:
            before = self._declared.get(schedule_id)
            self._declared = {known: d for known, d in self._declared.items() if known != schedule_id}
        return before

    def find(self, schedule_id: str) -> Declared | None:
        """What the code declares with this id, or None."""
        return self._declared.get(schedule_id)

    def all(self) -> list[Declared]:
        """What is declared now, by id."""
        return [declared for _, declared in sorted(self._declared.items()) if self.covers(declared.module)]

    def covers(self, module: str) -> bool:
        """Whether this process speaks for the schedules of a module: always, unless it was narrowed."""
        return not self._packages or any(f"{module}.".startswith(f"{name}.") for name in self._packages)

    @contextmanager
    def narrowed(self, packages: tuple[str, ...]) -> Iterator[None]:
        """Inside the block only what these packages declare is spoken for; all of it when none is named."""
        before = self._packages
        self._packages = packages
        try:
            yield
        finally:
            self._packages = before

    @property
    def clashes(self) -> tuple[DuplicateSchedule, ...]:
        """Declarations that were not taken, since their id was."""
        return self._clashes

    @contextmanager
    def preserved(self) -> Iterator[None]:
        """Undo every change made inside the block (tests)."""
        before = self._declared, self._clashes
        try:
            yield
        finally:
            with self._changing:
                self._declared, self._clashes = before


registry = ScheduleRegistry()
"""The one of this process."""
