"""A context without a platform behind it: what a handler says is kept for the test to look at."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from tasks.context import ChildResult, JobContext
from tasks.requests import JobRequest
from tasks.states import CancelReason, State

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class FakePort:
    """Keeps progress, checkpoints, data and children; asks to stop at the ``stop_at``-th look."""

    def __init__(self, stop_at: int = 0, reason: CancelReason = CancelReason.SHUTDOWN) -> None:
        self.stop_at = stop_at
        self.reason = reason
        self.looks = 0
        self.told: list[tuple[float | None, float | None, str]] = []
        self.cursor: Any = None
        self.data: dict[str, Any] = {}
        self.children: list[JobRequest] = []
        self.ignore_failures: bool | None = None

    def cancel_reason(self) -> CancelReason:
        self.looks += 1
        return self.reason if self.stop_at and self.looks >= self.stop_at else CancelReason.NONE

    def progress(self, done: float | None, total: float | None, label: str) -> None:
        self.told.append((done, total, label))

    def checkpoint(self, cursor: Any) -> None:
        self.cursor = json.loads(json.dumps(cursor))

    def merge(self, patch: Mapping[str, Any]) -> dict[str, Any]:
        self.data |= json.loads(json.dumps(patch))
        return dict(self.data)

    def spawn(self, children: Sequence[Any], ignore_failures: bool) -> list[UUID]:
        self.children += children
        self.ignore_failures = ignore_failures
        return [uuid4() for _ in children]

    def close(self) -> None:
        return None


def context_with(port: FakePort | None = None, **fields: Any) -> JobContext:
    """A context of a first run; ``fields`` change it."""
    facts: dict[str, Any] = {
        "id": uuid4(),
        "app_id": "",
        "job_type": "test",
        "params": {},
        "data": {},
        "attempt": 1,
        "lease": 1,
        "started_at": START,
        "port": port or FakePort(),
    }
    return JobContext(**facts | fields)


def run(handler: Any, port: FakePort | None = None, /, *, cursor: Any = None, **params: Any) -> Any:
    """Run a handler as the platform does: params checked and stored as JSON first; its answer."""
    stored = json.loads(json.dumps(handler.schema.normalise(params)))
    return handler.run(context_with(port, params=stored, cursor=cursor, job_type=handler.spec.job_type))


def as_child(child: JobRequest, result: Any, state: State = State.COMPLETED, error: str = "") -> ChildResult:
    """How a child that ended looks to its parent."""
    return ChildResult(child.child_key, uuid4(), state, json.loads(json.dumps(result)), error)
