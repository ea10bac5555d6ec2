"""Crashes on order: the next run dies at a chosen point, as by SIGKILL.

Nothing of the dead run is written any more: what it had saved (its checkpoint, its data, its progress) stands,
its open transaction is rolled back, and its end is never recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args
from uuid import UUID

from tasks.context import Child, Requested, RunPort
from tasks.states import CancelReason

Point = Literal["start", "check_cancel", "progress", "checkpoint", "merge", "spawn", "end"]
POINTS: tuple[str, ...] = get_args(Point)


class Killed(BaseException):
    """The process of this run is dead. Only the test kit catches it."""


class CrashingPort:
    """Any port; dies in the ``nth`` call of ``point``, which has taken effect by then."""

    def __init__(self, port: RunPort, point: str, nth: int) -> None:
        self._port, self._point, self._left = port, point, nth
        self._dead = False

    def _alive(self) -> RunPort:
        if self._dead:  # the handler has caught its own death
            raise Killed
        return self._port

    def _reached(self, point: str) -> None:
        if point == self._point:
            self._left -= 1
            self._dead = self._left == 0
        if self._dead:
            raise Killed

    def cancel_reason(self) -> CancelReason:
        reason = self._alive().cancel_reason()
        self._reached("check_cancel")
        return reason

    def progress(self, done: float | None, total: float | None, label: str) -> None:
        self._alive().progress(done, total, label)
        self._reached("progress")

    def checkpoint(self, cursor: Any) -> None:
        self._alive().checkpoint(cursor)
        self._reached("checkpoint")

    def merge(self, patch: Mapping[str, Any]) -> dict[str, Any]:
        whole = self._alive().merge(patch)
        self._reached("merge")
        return whole

    def spawn(self, children: Sequence[Child | Requested], ignore_failures: bool) -> list[UUID]:
        ids = self._alive().spawn(children, ignore_failures)
        self._reached("spawn")
        return ids

    def close(self) -> tuple[float | None, float | None, str] | None:
        self._reached("end")
        return self._port.close()
