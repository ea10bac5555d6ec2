"""A job's result for people: facts, sections and small tables instead of JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tasks.cli.spans import size
from tasks.cli.tables import Column, facts, table
from tasks.cli.terminal import Terminal
from tasks.cli.text import cut

MAX_ROWS = 10
MAX_WORDS = 8
MAX_CELL_WORDS = 3
MAX_INLINE = 6
MAX_DEPTH = 4


def result_lines(terminal: Terminal, value: Any, depth: int = 0) -> list[str]:
    """``value`` (JSON) in lines, as wide as the terminal; long lists are cut and say so."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        return _mapping(terminal, value, depth)
    if _is_records(value):
        return _records(terminal, value)
    return [_fitted(terminal, scalar("", value))]


def scalar(name: str, value: Any, words: int = MAX_WORDS) -> str:
    """A value on one line; numbers with separators, bytes with a readable size, some of a list."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    if isinstance(value, int):
        return f"{value:,} ({size(value)})" if _is_bytes(name) and abs(value) >= 1024 else f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"
    if isinstance(value, Mapping):
        pairs = {key: scalar(str(key), item) for key, item in list(value.items())[:MAX_INLINE]}
        return ", ".join(f"{_words(key)} {text}" for key, text in pairs.items() if text)
    if isinstance(value, list):
        shown = ", ".join(scalar("", item) for item in value[:words])
        return f"{shown}, … ({len(value):,} in all)" if len(value) > words else shown
    return str(value)


def _words(name: object) -> str:
    return str(name).replace("_", " ")


def _is_bytes(name: str) -> bool:
    return name in {"bytes", "size"} or name.endswith("_bytes")


def _is_flat(value: Any) -> bool:
    """Whether it holds no filled object or list."""
    items = value.values() if isinstance(value, Mapping) else value
    return not any(isinstance(item, Mapping | list) and item for item in items)


def _is_records(value: Any) -> bool:
    """A list of objects."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _is_section(value: Any) -> bool:
    """Whether it deserves lines of its own; what is short and flat fits behind its name."""
    if isinstance(value, Mapping):
        return bool(value) and (len(value) > MAX_INLINE or not _is_flat(value))
    return _is_records(value)


def _mapping(terminal: Terminal, value: Mapping[str, Any], depth: int) -> list[str]:
    if value and all(isinstance(item, Mapping) and item and _is_flat(item) for item in value.values()):
        rows = [{"name": name, **item} for name, item in value.items()]
        return _records(terminal, sorted(rows, key=_weight, reverse=True))
    simple = {
        _words(name): scalar(str(name), item)
        for name, item in value.items()
        if not _is_section(item) or depth >= MAX_DEPTH
    }
    lines = [_fitted(terminal, line) for line in facts(dict(list(simple.items())[: 2 * MAX_ROWS]))]
    lines += _more(len(simple), 2 * MAX_ROWS)
    inner = terminal.inset(2)
    for name, item in value.items():
        if _is_section(item) and depth < MAX_DEPTH:
            gap = [""] if lines and depth == 0 else []
            title = terminal.paint(_words(name), "bold")
            lines += [*gap, title, *(f"  {line}".rstrip() for line in result_lines(inner, item, depth + 1))]
    return lines


def _records(terminal: Terminal, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    shown = rows[:MAX_ROWS]
    found = [name for name in dict.fromkeys(name for row in shown for name in row) if _any(shown, name)]
    names = sorted(found, key=lambda name: _place(shown, name))
    columns = [
        Column(_words(name).upper(), right=_numeric(shown, name), shrinks=not _numeric(shown, name))
        for name in names
    ]
    cells = [[scalar(str(name), row.get(name), MAX_CELL_WORDS) for name in names] for row in shown]
    return table(terminal, columns, cells) + _more(len(rows), MAX_ROWS)


def _any(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(row.get(name) not in (None, "", [], {}) for row in rows)


def _place(rows: Sequence[Mapping[str, Any]], name: str) -> tuple[int, bool, str]:
    """Names first, then other text, numbers, lists: PostgreSQL keeps no order of an object's members."""
    group = 2 if _any_list(rows, name) else int(_numeric(rows, name))
    return group, name not in {"name", "path"}, name


def _any_list(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(isinstance(row.get(name), list) for row in rows)


def _weight(row: Mapping[str, Any]) -> float:
    """What sorts objects that have names instead of an order: their bytes, else their largest number."""
    numbers = [item for item in row.values() if isinstance(item, int | float)]
    return float(row["bytes"]) if isinstance(row.get("bytes"), int) else max(numbers, default=0.0)


def _numeric(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    values = [row.get(name) for row in rows]
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _fitted(terminal: Terminal, line: str) -> str:
    return cut(line, terminal.columns) if terminal.is_tty else line


def _more(count: int, limit: int) -> list[str]:
    return [f"… and {count - limit:,} more (--json shows all)"] if count > limit else []
