"""A port that only remembers what a handler told it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from jobsplatform.kernel.ids import uuid7
from tasks.context import JobContext
from tasks.states import CancelReason


class NotedPort:
    def __init__(self) -> None:
        self.reason = CancelReason.NONE
        self.progresses: list[tuple[Any, ...]] = []
        self.cursors: list[Any] = []
        self.data: dict[str, Any] = {}
        self.children: list[Any] = []
        self.ignore_failures: bool | None = None

    def cancel_reason(self) -> CancelReason:
        return self.reason

    def progress(self, done: float | None, total: float | None, label: str) -> None:
        self.progresses.append((done, total, label))

    def checkpoint(self, cursor: Any) -> None:
        self.cursors.append(cursor)

    def merge(self, patch: Mapping[str, Any]) -> dict[str, Any]:
        self.data.update(patch)
        return dict(self.data)

    def spawn(self, children: Sequence[Any], ignore_failures: bool) -> list[UUID]:
        self.children.extend(children)
        self.ignore_failures = ignore_failures
        return [uuid7() for _ in children]

    def close(self) -> None:
        return None


def context(
    params: Mapping[str, Any] | None = None, port: NotedPort | None = None, **facts: Any
) -> JobContext:
    """The context of a first run."""
    return JobContext(
        id=uuid7(),
        app_id="",
        job_type="tests.one",
        params=params or {},
        data={},
        attempt=1,
        lease=1,
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        port=port or NotedPort(),
        **facts,
    )
