"""Rows as one JSON document, which needs no quoting of each value; what is the same in all of them is bound once."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import repeat
from operator import eq, itemgetter
from typing import Any, NamedTuple

ROWS = "rows"

_encode = json.JSONEncoder(default=str).encode
"""Instants and ids become text, which the database reads as what their columns are."""


def document(rows: Sequence[NamedTuple], own: Collection[str]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The columns that differ, ``own`` (two at least) among them whatever they hold; and what is to be bound: the
    others by their names, and the document as ROWS."""
    fields = rows[0]._fields
    same: dict[str, Any] = {}
    for name, column in zip(fields, zip(*rows, strict=True), strict=True):
        if name not in own and all(map(eq, column, repeat(column[0]))):
            same[name] = column[0]
    names = tuple(name for name in fields if name not in same)
    picked = itemgetter(*map(fields.index, names))
    text = _encode([dict(zip(names, picked(row), strict=True)) for row in rows])
    return names, {**same, ROWS: text}


def source(names: Sequence[str], types: Mapping[str, str]) -> tuple[str, Callable[[str], str]]:
    """The document as ``v``, for FROM; and what gives the value of a column, in it or bound.

    A bound text is cast without the length of its column, so that one too long is refused there: a cast would cut it.
    """
    typed = ", ".join(f"{name} {types[name]}" for name in names)
    return (
        f"json_to_recordset(%({ROWS})s::json) AS v({typed})",
        lambda name: f"v.{name}" if name in names else f"%({name})s::{types[name].partition('(')[0]}",
    )
