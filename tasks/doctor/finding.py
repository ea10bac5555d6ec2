"""What a check found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import QuerySet

MAX_COUNT = 1000


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report: what was looked at, how it is, and what to do about it."""

    check: str
    level: Level
    text: str
    advice: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


Check = Callable[[datetime], Iterable[Finding]]
"""Looks at one thing at an instant (aware, UTC, by the database's clock)."""


def ok(check: str, text: str, **facts: Any) -> Finding:
    """All is well."""
    return Finding(check, Level.OK, text, facts=facts)


def warning(check: str, text: str, advice: str, **facts: Any) -> Finding:
    """Not as it should be; work goes on."""
    return Finding(check, Level.WARNING, text, advice, facts)


def fault(check: str, text: str, advice: str, **facts: Any) -> Finding:
    """Something is wrong and stays so until somebody acts."""
    return Finding(check, Level.FAULT, text, advice, facts)


def unreachable(check: str, text: str, advice: str, **facts: Any) -> Finding:
    """It does not answer, so nothing can be said about what lies behind it."""
    return Finding(check, Level.UNREACHABLE, text, advice, facts)


def some(rows: QuerySet[Any]) -> tuple[int, str, list[str]]:
    """(count, its text, three ids): counting ends at a thousand, so that a broken table costs no minute."""
    ids = [str(key) for key in rows.order_by().values_list("pk", flat=True)[: MAX_COUNT + 1]]
    text = f"more than {MAX_COUNT:,}" if len(ids) > MAX_COUNT else str(len(ids))
    return len(ids), text, ids[:3]
