"""Jobs without the columns that are too large to be pushed: those stay in the database."""

from __future__ import annotations

from typing import Any

from django.db.models import Case, F, Func, IntegerField, JSONField, QuerySet, When
from django.db.models.functions import Left
from django.db.models.lookups import LessThanOrEqual

from tasks.json_values import StoredJSON
from tasks.models import Job

LARGEST = 32_768
"""Bytes of params, data or a result, as JSON, that are still pushed; of what is larger only its name is."""

ERROR_LENGTH = 4000

_PAYLOAD = ("params", "data", "result")
_EMPTY: dict[str, Any] = {"params": {}, "data": {}, "result": None}


class Size(Func):
    """Bytes of a JSON value as text; on SQLite, characters."""

    output_field = IntegerField()
    arity = 1

    def as_sql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, Any]:
        column, params = compiler.compile(self.source_expressions[0])
        return f"LENGTH({column})", params

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, Any]:
        column, params = compiler.compile(self.source_expressions[0])
        return f"OCTET_LENGTH({column}::text)", params


def small(rows: QuerySet[Job]) -> QuerySet[Job]:
    """The rows with what ``settle`` needs, in one statement."""
    wanted: dict[str, Any] = {"live_error": Left("error", ERROR_LENGTH)}
    for name in _PAYLOAD:
        fits = LessThanOrEqual(Size(F(name)), LARGEST)
        wanted[f"live_{name}"] = Case(When(fits, then=F(name)), output_field=JSONField(decoder=StoredJSON))
        wanted[f"live_{name}_size"] = Size(F(name))
    return rows.defer(*_PAYLOAD, "error", "checkpoint").annotate(**wanted)


def settle(job: Job) -> Job:
    """A job of ``small`` as if it had been read whole; ``too_large`` names what was left behind."""
    cut = []
    for name in _PAYLOAD:
        large = (getattr(job, f"live_{name}_size") or 0) > LARGEST
        setattr(job, name, _EMPTY[name] if large else getattr(job, f"live_{name}"))
        if large:
            cut.append(name)
    job.error = job.live_error
    job.too_large = tuple(cut)
    return job
