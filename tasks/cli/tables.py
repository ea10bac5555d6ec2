"""Tables for people: aligned, as wide as the terminal, without borders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tasks.cli.terminal import Terminal
from tasks.cli.text import cut, padded, plain, width

_GAP = "  "
_LEAST = 6  # columns that a shrinking column keeps


@dataclass(frozen=True, slots=True)
class Column:
    """A heading; ``right`` for numbers, ``shrinks`` for what may be cut, ``colour`` by the cell's text."""

    title: str
    right: bool = False
    shrinks: bool = False
    colour: Callable[[str], str] | None = None


def table(terminal: Terminal, columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> list[str]:
    """The lines of a table. On a terminal, columns that may shrink are cut until a line fits."""
    cells = [["-" if cell is None or cell == "" else plain(cell) for cell in row] for row in rows]
    widths = [
        max([width(column.title), *(width(row[index]) for row in cells)])
        for index, column in enumerate(columns)
    ]
    if terminal.is_tty:
        _shrink(columns, widths, terminal.columns)
    lines = [_line(terminal, columns, [column.title for column in columns], widths, heading=True)]
    lines.extend(_line(terminal, columns, row, widths) for row in cells)
    return lines


def _shrink(columns: Sequence[Column], widths: list[int], limit: int) -> None:
    """Take the excess from the widest shrinking columns, one column a step."""
    able = [index for index, column in enumerate(columns) if column.shrinks]
    while sum(widths) + len(_GAP) * (len(widths) - 1) > limit:
        candidates = [index for index in able if widths[index] > _LEAST]
        if not candidates:
            return
        widths[max(candidates, key=lambda index: widths[index])] -= 1


def _line(
    terminal: Terminal,
    columns: Sequence[Column],
    cells: Sequence[str],
    widths: Sequence[int],
    *,
    heading: bool = False,
) -> str:
    parts = []
    for index, (column, cell, columns_wide) in enumerate(zip(columns, cells, widths, strict=True)):
        text = cut(cell, columns_wide) if column.shrinks and terminal.is_tty else cell
        last = index == len(columns) - 1 and not column.right
        shown = text if last else padded(text, columns_wide, right=column.right)
        colour = "bold" if heading else column.colour(cell) if column.colour else ""
        parts.append(terminal.paint(shown, colour))
    return _GAP.join(parts).rstrip()


def facts(pairs: Mapping[str, object], *, indent: str = "") -> list[str]:
    """``name   value`` lines, names aligned; empty values are left out."""
    shown = {name: plain(value) for name, value in pairs.items() if value not in (None, "")}
    wide = max((width(name) for name in shown), default=0)
    return [f"{indent}{padded(name, wide)}  {value}" for name, value in shown.items()]
