"""The result for people: a Markdown table, ready for the docs."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.numbers import significant
from benchmarks.results import Row

_HEAD = "| what | unit | ours | others (ours ÷ theirs) | target | met |\n|---|---|---|---|---|---|"
_MET = {True: "yes", False: "**no**", None: ""}


def table(rows: Sequence[Row]) -> str:
    """All rows, then why some figures are missing, then how each was counted."""
    parts = ["\n".join([_HEAD, *map(_line, rows)])]
    if gaps := missing(rows):
        parts.append("Not measured:\n\n" + "\n".join(f"- {gap}" for gap in gaps))
    counted: dict[str, list[str]] = {}
    for row in rows:
        counted.setdefault(row.metric.counted, []).append(row.metric.name)
    parts.append("Counted:\n\n" + "\n".join(f"- {', '.join(names)}: {how}" for how, names in counted.items()))
    return "\n\n".join(parts)


def missing(rows: Sequence[Row]) -> list[str]:
    """Each figure that is missing, and why."""
    return [
        f"{row.metric.name}, {name}: {reason}" for row in rows for name, reason in sorted(row.why.items())
    ]


def _line(row: Row) -> str:
    ours = row.our_figure
    rivals = [
        f"{name} {shown(value)} ({row.ratios[name]:.3g}×)" if name in row.ratios else f"{name} {shown(value)}"
        for name, value in row.rival_figures.items()
    ]
    cells = [
        row.metric.name,
        row.metric.unit,
        "not measured" if ours is None else shown(ours),
        ", ".join(rivals),
        row.metric.target,
        _MET[row.met] if row.met is not None or not row.metric.bounds else "not known",
    ]
    return f"| {' | '.join(cells)} |"


def shown(value: float) -> str:
    """Four digits, thousands apart."""
    rounded = significant(value)
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:g}"
