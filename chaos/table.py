"""The result for people: a Markdown table, ready for the docs."""

from __future__ import annotations

from collections.abc import Sequence

from chaos.catch import Catch
from chaos.run import Result

_HEAD = "| fault | what it shows | jobs | runs | seconds | seen | holds |\n|---|---|---|---|---|---|---|"


def table(results: Sequence[Result]) -> str:
    """A line a fault, then how many hold."""
    held = sum(result.holds for result in results)
    return "\n".join([_HEAD, *map(_line, results), "", f"{held} of {len(results)} hold"])


def _line(result: Result) -> str:
    cells = [
        result.fault.name,
        result.fault.shows,
        str(result.jobs),
        str(result.runs),
        f"{result.seconds:.1f}",
        "; ".join(result.notes),
        "yes" if result.holds else "**no**",
    ]
    return f"| {' | '.join(cells)} |"


def catches(found: Sequence[Catch]) -> str:
    """A line a planted bug, then how many were caught."""
    lines = ["| planted | what is wrong | line | caught by |", "|---|---|---|---|"]
    for one in found:
        seen = one.seen or "**not caught**"
        lines.append(f"| {one.name} | {one.bug.about} | {one.bug.caught_by} | {seen} |")
    caught = sum(bool(one.seen) for one in found)
    return "\n".join([*lines, "", f"{caught} of {len(found)} caught"])
