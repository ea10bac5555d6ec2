"""One filter over jobs, for every door: command line, admin, bus, cancel by filter, clean-up, summaries."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.fields.json import KeyTransform

from jobsplatform.kernel.errors import InvalidInput, UnknownName
from tasks.json_values import check_json, shown
from tasks.models import Job
from tasks.requests import instant, text
from tasks.states import State


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Jobs that match all that is given. Instants are aware; ``_after`` is inclusive, ``_before`` exclusive.

    ``types``: job types, or ``app:type``. ``data``: top-level keys of a job's data and their exact values.
    """

    ids: tuple[UUID, ...] = ()
    types: tuple[str, ...] = ()
    states: tuple[State, ...] = ()
    app_id: str | None = None
    tenant_id: str | None = None
    queue: str | None = None
    parent: UUID | None = None
    user: str | None = None
    dedupe_key: str | None = None
    schedule_id: str | None = None
    priority_min: int | None = None
    priority_max: int | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    finished_after: datetime | None = None
    finished_before: datetime | None = None
    data: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> JobFilter:
        """A filter from outside: unknown names and wrong values are refused. Raises UnknownName, InvalidInput."""
        known = {f.name for f in fields(cls)}
        for name in given:
            if name not in known:
                raise UnknownName("filter", str(name), known)
        values: dict[str, Any] = {}
        for name, value in given.items():
            if value is not None:
                values[name] = _read(name, value)
        return cls(**values)

    @property
    def is_empty(self) -> bool:
        """Whether it matches every job."""
        return self == JobFilter()

    def as_mapping(self) -> dict[str, Any]:
        """What is asked for, as JSON values: for the audit trail. Of ``data`` the keys alone: values are payload."""
        given = {f.name: getattr(self, f.name) for f in fields(self)} | {"data": tuple(sorted(self.data))}
        return {name: _written(value) for name, value in given.items() if value not in (None, ())}

    def queryset(self) -> QuerySet[Job]:
        """The matching jobs, unordered."""
        rows = Job.objects.all()
        if self.ids:
            rows = rows.filter(id__in=self.ids)
        if self.types:
            rows = rows.filter(**_types(self.types, self.app_id))
        if self.states:
            rows = rows.filter(state__in=[str(s) for s in self.states])
        for name, lookup in _LOOKUPS.items():
            value = getattr(self, name)
            if value is not None:
                rows = rows.filter(**{lookup: value})
        for n, (key, value) in enumerate(self.data.items()):
            # Not data__key: a key may be named like a lookup, such as "in" or "contains".
            rows = rows.alias(**{f"data_{n}": KeyTransform(key, "data")}).filter(**{f"data_{n}": value})
        return rows


_LOOKUPS = {
    "app_id": "app_id",
    "tenant_id": "tenant_id",
    "queue": "queue",
    "parent": "parent_id",
    "user": "user_id",
    "dedupe_key": "dedupe_key",
    "schedule_id": "schedule_id",
    "priority_min": "priority__gte",
    "priority_max": "priority__lte",
    "created_after": "created_at__gte",
    "created_before": "created_at__lt",
    "finished_after": "finished_at__gte",
    "finished_before": "finished_at__lt",
}
_INSTANTS = {"created_after", "created_before", "finished_after", "finished_before"}


def _written(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_written(item) for item in value]
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return value if isinstance(value, int) else str(value)


def _types(types: tuple[str, ...], app_id: str | None) -> dict[str, Any]:
    if any(":" in t for t in types):
        return {"handler_key__in": [t if ":" in t else f"{app_id or ''}:{t}" for t in types]}
    return (
        {"job_type__in": types} if app_id is None else {"handler_key__in": [f"{app_id}:{t}" for t in types]}
    )


def _read(name: str, value: Any) -> Any:
    if name in ("ids", "types", "states"):
        items = [value] if isinstance(value, (str, UUID)) else value
        if not isinstance(items, Collection) or isinstance(items, Mapping):
            raise InvalidInput(f"{name}: expected a list, got {shown(value)}.")
        if not items:  # taken for "no condition" it would match every job
            raise InvalidInput(f"{name}: expected at least one, got none; leave it out to mean all.")
        return tuple({"ids": read_id, "types": _type, "states": read_state}[name](item) for item in items)
    if name == "parent":
        return read_id(value)
    if name in _INSTANTS:
        return instant(value, name)
    if name in ("priority_min", "priority_max"):
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidInput(f"{name}: expected a whole number, got {value!r}.")
        return value
    if name == "data":
        return _data(value)
    return text(value, name, 255)


def _type(value: Any) -> str:
    return text(value, "types", 301)


def _data(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(k, str) and k and "__" not in k for k in value):
        raise InvalidInput("data: expected an object of top-level keys (without '__') and their values.")
    for key in value:
        if _is_number(key) or '"' in key:
            raise InvalidInput(f"data: {shown(key)} cannot be searched for: it is a number or has a quote.")
    return dict(check_json(value, what="data"))


def _is_number(key: str) -> bool:
    try:
        int(key)
    except ValueError:
        return False
    return True


def read_state(value: Any) -> State:
    """A state by its name. Raises UnknownName with the nearest."""
    name = str(value).lower()
    if name not in list(State):
        raise UnknownName("state", str(value), list(State))
    return State(name)


def read_id(value: Any) -> UUID:
    """A job id. Raises InvalidInput."""
    if isinstance(value, UUID):
        return value
    try:
        return UUID(str(value))
    except ValueError:
        raise InvalidInput(
            f"{str(value)[:80]!r} is not a job id: expected a UUID such as 01890a5d-ac96-774b-bcce-b302099a8057."
        ) from None
