"""A port that is opened when the handler first uses it: a short run that never does costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from tasks.context import Child, Requested, RunPort
from tasks.states import CancelReason


class LazyPort:
    """Stands for the port that ``make`` opens. ``spawned``: the handler has asked for children."""

    def __init__(self, make: Callable[[], RunPort]) -> None:
        self._make = make
        self._port: RunPort | None = None
        self.spawned = False

    def open(self) -> RunPort:
        """Open it now."""
        if self._port is None:
            self._port = self._make()
        return self._port

    def cancel_reason(self) -> CancelReason:
        return self.open().cancel_reason()

    def progress(self, done: float | None, total: float | None, label: str) -> None:
        self.open().progress(done, total, label)

    def checkpoint(self, cursor: Any) -> None:
        self.open().checkpoint(cursor)

    def merge(self, patch: Mapping[str, Any]) -> dict[str, Any]:
        return self.open().merge(patch)

    def spawn(self, children: Sequence[Child | Requested], ignore_failures: bool) -> list[UUID]:
        self.spawned = True
        return self.open().spawn(children, ignore_failures)

    def close(self) -> tuple[float | None, float | None, str] | None:
        return None if self._port is None else self._port.close()
