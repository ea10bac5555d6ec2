"""JSON for programs: one document a command, or one a line for streams."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from enum import Enum
from typing import Any
from uuid import UUID

from tasks.cli.terminal import Terminal


def document(terminal: Terminal, value: object) -> None:
    """Write ``value`` as one indented JSON document."""
    terminal.line(json.dumps(value, indent=2, default=_plain, ensure_ascii=_ascii(terminal)))


def line(terminal: Terminal, value: object) -> None:
    """Write ``value`` as JSON on one line."""
    terminal.line(json.dumps(value, default=_plain, ensure_ascii=_ascii(terminal)))


def instant(when: datetime | None) -> str | None:
    """ISO 8601 in UTC with a ``Z``."""
    return None if when is None else when.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _ascii(terminal: Terminal) -> bool:
    """Escape what a stream that is not UTF-8 could not carry."""
    encoding = getattr(terminal.stream, "encoding", None) or "utf-8"
    return encoding.lower().replace("-", "") != "utf8"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} cannot be shown as JSON")
