"""Values of hand-written statements, as each database takes and gives them.

PostgreSQL's driver gives typed values; SQLite stores UUIDs as 32 hex digits, instants as text in UTC, and truth as
0 and 1.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import connection

from jobsplatform.kernel.db import is_postgres


def uuid_in(value: UUID | None) -> Any:
    """An id, as it is bound."""
    return value if value is None or is_postgres() else value.hex


def time_in(value: datetime | None) -> Any:
    """An aware instant, as it is bound."""
    return value if is_postgres() else connection.ops.adapt_datetimefield_value(value)


def uuid_out(value: Any) -> UUID:
    """An id that came back."""
    return value if isinstance(value, UUID) else UUID(value)


def time_out(value: Any) -> datetime:
    """An instant that came back: aware, in UTC."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


def marks(count: int) -> str:
    """Placeholders of a list of ``count`` values."""
    return ", ".join(["%s"] * count)
