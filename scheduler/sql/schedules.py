"""The schedules of a round, read at once."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Case, Value, When
from django.db.models.base import ModelState
from django.db.models.fields import BooleanField

from scheduler.models import Schedule, tell_unreadable
from scheduler.rules import EDITED_OUTSIDE

UNREAD = frozenset({"description", "module", "created_by", "created_at", "updated_at", "applied"})
"""Columns that no round asks for."""

_READ = tuple(f.attname for f in Schedule._meta.concrete_fields if f.attname not in UNREAD)
_OUTSIDE = Case(When(EDITED_OUTSIDE, then=Value(True)), default=Value(False), output_field=BooleanField())


def read(ids: Collection[str]) -> dict[str, Schedule]:
    """These schedules by id, as far as they exist, without UNREAD; ``outside``: somebody has edited the rule past us.

    What the ORM makes of the same rows, at little more than half its cost.
    """
    rows = Schedule.objects.filter(pk__in=sorted(ids)).annotate(outside=_OUTSIDE)
    found = {}
    for values in rows.values_list(*_READ, "outside"):
        schedule = Schedule.__new__(Schedule)
        schedule.__dict__.update(zip((*_READ, "outside"), values, strict=True), _state=ModelState())
        schedule._state.adding = False
        tell_unreadable(schedule.__dict__)
        found[schedule.pk] = schedule
    return found
