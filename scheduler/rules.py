"""What of a schedule decides when it has to be looked at, as one text that the database makes.

``Schedule.applied`` keeps that text as we have last seen it. A row whose text differs was edited by somebody who did
not tell us (SQL, a bulk update, a data migration); such rows are found by an index that holds no others, so that
looking for them costs the same however many schedules there are.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Case, Func, Q, TextField, Value, When
from django.db.models.functions import Cast


class Literal(Value):
    """A text that stands in the statement itself: SQLite uses an index with a condition only where it reads the same
    words, and a bound value is none."""

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        return f"'{self.value}'", []


class Joined(Func):
    """Texts, none of them NULL, one after the other."""

    template = "(%(expressions)s)"
    arg_joiner = " || "


_BAR = Literal("|", output_field=TextField())

RULE = Joined(
    "trigger_type",
    _BAR,
    Cast("trigger_config", TextField()),
    _BAR,
    "timezone",
    _BAR,
    "audience",
    _BAR,
    Cast("tenants", TextField()),
    _BAR,
    Case(
        When(archived_at__isnull=True, then=Literal("", output_field=TextField())),
        default=Literal("archived", output_field=TextField()),
        output_field=TextField(),
    ),
    output_field=TextField(),
)
"""A schedule's rule of when and for whom. Job type, params and policies are read anew at each round."""

EDITED_OUTSIDE = ~Q(applied=RULE)
"""Rows whose rule nobody has applied yet."""
