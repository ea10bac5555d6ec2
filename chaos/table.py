"""The result for people: a Markdown table, ready for the docs."""

from __future__ import annotations

from collections.abc import Sequence

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
