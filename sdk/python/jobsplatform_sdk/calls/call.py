"""A call that has not been sent yet."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """What to send, and how to read the answer.

    ``repeatable``: doing it twice is doing it once, so it may be sent again when no answer came. ``wait``: seconds
    that the platform may take on purpose.
    """

    method: str
    body: Mapping[str, Any]
    read: Callable[[Mapping[str, Any]], T]
    repeatable: bool = True
    wait: float = 0.0


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None; instants and lengths as the wire wants them."""
    return {name: wire(value) for name, value in fields.items() if value is not None}


def wire(value: Any) -> Any:
    """Instants as text and lengths as seconds; the rest as it is. Raises ValueError for a naive instant."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"expected an aware instant, got {value.isoformat()} without a zone.")
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value


def new_key() -> str:
    """An idempotency key that nobody has used."""
    return f"sdk:{uuid.uuid4()}"


def nothing(answer: Mapping[str, Any]) -> None:
    """Reads an answer that says nothing."""


def plain(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The answer as it came."""
    return dict(answer)


def count(answer: Mapping[str, Any]) -> int:
    """How many were meant."""
    return int(answer["count"])
