"""A job's result for people: facts, sections and small tables instead of JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tasks.cli.spans import size
from tasks.cli.tables import Column, facts, table
from tasks.cli.terminal import Terminal

MAX_ROWS = 15
MAX_WORDS = 10


def result_lines(terminal: Terminal, value: Any) -> list[str]:
    """``value`` (JSON) in lines; long lists are cut and say so."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        return _mapping(terminal, value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _sequence(terminal, value)
    return [scalar("", value)]


def scalar(name: str, value: Any) -> str:
    """A single value; numbers with separators, bytes with a readable size."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,} ({size(value)})" if _is_bytes(name) and abs(value) >= 1024 else f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"
    if isinstance(value, Mapping):
        return (
            ", ".join(f"{key}: {scalar(str(key), item)}" for key, item in list(value.items())[:MAX_WORDS])
            or "-"
        )
    if isinstance(value, list):
        words = [scalar("", item) for item in value[:MAX_WORDS]]
        return ", ".join(words) + (f", … ({len(value):,} in all)" if len(value) > MAX_WORDS else "") or "-"
    return str(value)


def _is_bytes(name: str) -> bool:
    return name == "bytes" or name.endswith("_bytes") or name == "size"


def _mapping(terminal: Terminal, value: Mapping[str, Any]) -> list[str]:
    simple = {str(name): scalar(str(name), item) for name, item in value.items() if not _has_parts(item)}
    lines = facts(simple)
    for name, item in value.items():
        if _has_parts(item):
            inner = _pairs(terminal, item) if isinstance(item, Mapping) else _sequence(terminal, item)
            title = terminal.paint(str(name).replace("_", " "), "bold")
            lines += ["", title, *(f"  {line}" for line in inner)]
    return lines[1:] if lines[:1] == [""] else lines


def _has_parts(value: Any) -> bool:
    """Whether it deserves a section of its own: an object, or a list of objects."""
    return bool(value) and (
        isinstance(value, Mapping) or (isinstance(value, list) and isinstance(value[0], Mapping))
    )


def _pairs(terminal: Terminal, value: Mapping[str, Any]) -> list[str]:
    items = list(value.items())
    if items and all(isinstance(item, Mapping) for _, item in items):
        return _sequence(terminal, [{"name": name, **item} for name, item in items])
    lines = facts({str(name): scalar(str(name), item) for name, item in items[:MAX_ROWS]})
    return lines + _more(len(items))


def _sequence(terminal: Terminal, rows: Sequence[Any]) -> list[str]:
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        return [scalar("", list(rows))]
    names = list(dict.fromkeys(str(name) for row in rows[:MAX_ROWS] for name in row))
    columns = [
        Column(name.upper(), right=_numeric(rows, name), shrinks=not _numeric(rows, name)) for name in names
    ]
    cells = [[scalar(name, row.get(name)) for name in names] for row in rows[:MAX_ROWS]]
    return table(terminal, columns, cells) + _more(len(rows))


def _numeric(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    values = [row.get(name) for row in rows[:MAX_ROWS]]
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _more(count: int) -> list[str]:
    return [f"… and {count - MAX_ROWS:,} more (--json shows all)"] if count > MAX_ROWS else []
