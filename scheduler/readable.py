"""Reading a row that somebody may have written past us: its JSON and its instants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import models
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from jobsplatform.kernel.instants import EARLIEST, LATEST, NOWHEN, UNREADABLE, Unreadable
from tasks.json_values import StoredJSON


class ReadableJSON:
    """Reads what a database takes for JSON; None for what Python cannot read of it, such as a number of 5,000 digits
    or lists nested a thousand deep. So the row can be looked at, said to be faulty, and mended, and stops no other."""

    def decode(self, text: str) -> Any:
        """The value, or None."""
        try:
            return StoredJSON.decode(text)
        except (ValueError, RecursionError):
            return None


class ReadableInstant(models.DateTimeField):
    """A DateTimeField that reads what is no instant for Python as ``UNREADABLE``, for the same reason.

    PostgreSQL holds infinities and years beyond 9999, SQLite any text: both drivers raise while they fetch such a
    row, so the statement itself has to keep it from them.
    """

    if TYPE_CHECKING:  # what a row has there, as of any other field

        def __get__(self, row: Any, owner: Any = None) -> Any: ...
        def __set__(self, row: Any, value: Any) -> None: ...

    def get_internal_type(self) -> str:
        """A name of its own: that of a DateTimeField has the SQLite backend read the value before we do."""
        return "ReadableInstant"

    def deconstruct(self) -> Any:
        """For migrations it is the column that it is."""
        name, _, args, options = super().deconstruct()
        return name, "django.db.models.DateTimeField", args, options

    def db_type(self, connection: Any) -> str:
        return str(connection.data_types["DateTimeField"])

    def cast_db_type(self, connection: Any) -> str:
        return self.db_type(connection)

    def select_format(self, compiler: Any, sql: str, params: Sequence[Any]) -> tuple[str, Sequence[Any]]:
        """The column as a driver can fetch it."""
        if compiler.connection.vendor == "sqlite":
            return f"+({sql})", params  # no bare column, which the driver would take for an instant
        known = f"CASE WHEN {sql} < '{EARLIEST}' OR {sql} > '{LATEST}' THEN '{NOWHEN}'::timestamptz ELSE {sql} END"
        return known, (*params, *params, *params)

    def from_db_value(self, value: Any, _: Any, connection: Any) -> datetime | None:
        if value is None:
            return None
        if type(value) is not datetime:
            return _parsed(value, connection.timezone)
        return UNREADABLE if value == NOWHEN else value

    def get_prep_value(self, value: Any) -> Any:
        """What could not be read and is written again stays what cannot be read."""
        return NOWHEN if type(value) is Unreadable else super().get_prep_value(value)


def _parsed(value: Any, zone: Any) -> datetime:
    """A text of SQLite."""
    try:
        found = parse_datetime(value)
    except (TypeError, ValueError):
        return UNREADABLE
    if found is None:
        return UNREADABLE
    aware = found if timezone.is_aware(found) else found.replace(tzinfo=zone)
    return aware if EARLIEST <= aware <= LATEST and aware != NOWHEN else UNREADABLE


def unreadable_columns(values: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Those of ``names`` whose value is none; columns that were not read are not asked for."""
    return [name for name in names if type(values.get(name)) is Unreadable]


def told(columns: Iterable[str]) -> str:
    """What is wrong with a row of such columns, as the fault of its schedule."""
    return f"{', '.join(columns)}: no timestamp that can be read. Write one of the years 2 to 9998."
