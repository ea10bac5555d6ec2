"""What of a schedule decides when it has to be looked at, as one text that the database makes.

``Schedule.applied`` keeps that text as we have last seen it. A row whose text differs was edited by somebody who did
not tell us (SQL, a bulk update, a data migration); such rows are found by an index that holds no others, so that
looking for them costs the same however many schedules there are.
"""

from __future__ import annotations

from django.db.models import Case, Q, TextField, Value, When
from django.db.models.functions import Cast, Concat

RULE = Concat(
    "trigger_type",
    Value("|"),
    Cast("trigger_config", TextField()),
    Value("|"),
    "timezone",
    Value("|"),
    "audience",
    Value("|"),
    Cast("tenants", TextField()),
    Value("|"),
    Case(When(archived_at__isnull=True, then=Value("")), default=Value("archived"), output_field=TextField()),
    output_field=TextField(),
)
"""A schedule's rule of when and for whom. Job type, params and policies are read anew at each round."""

EDITED_OUTSIDE = ~Q(applied=RULE)
"""Rows whose rule nobody has applied yet."""
