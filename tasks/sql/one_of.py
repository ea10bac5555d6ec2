"""A condition for constraints: one of a few known values.

PostgreSQL keeps a check as a tree of its parts and reads it anew for every statement that writes the table. Django's
``IN`` is several parts for each value, this is three whatever their number.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import BooleanField, F, Func


class OneOf(Func):
    """``column`` holds one of ``values``, which are plain words (or empty)."""

    conditional = True
    output_field = BooleanField()

    def __init__(self, column: str, values: Iterable[str], **extra: Any) -> None:
        self.values = [str(value) for value in values]
        if any(not (value == "" or value.isidentifier()) for value in self.values):
            raise ValueError(f"only plain words need no quotes: {self.values}")
        super().__init__(F(column) if isinstance(column, str) else column, **extra)

    def as_sql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, list[Any]]:
        column, params = compiler.compile(self.source_expressions[0])
        words = ", ".join(f"'{value}'" for value in self.values)
        return f"({column} IN ({words}))", list(params)

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, list[Any]]:
        column, params = compiler.compile(self.source_expressions[0])
        words = ",".join(value or '""' for value in self.values)
        return f"({column}::text = ANY('{{{words}}}'::text[]))", list(params)
