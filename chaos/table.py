"""The result for people: a line a fault, aligned; or Markdown, ready for the docs."""

from __future__ import annotations

from collections.abc import Sequence

from chaos.planted import Bug
from chaos.result import Result

_HEAD = "| fault | what it shows | jobs | runs | seconds | seen | holds |\n|---|---|---|---|---|---|---|"


def table(results: Sequence[Result]) -> str:
    """A line a fault, then how many hold."""
    width = max((len(result.name) for result in results), default=5)
    lines = [f"{'':6}  {'fault':{width}}  {'jobs':>5}  {'runs':>5}  {'s':>5}  seen"]
    for one in results:
        verdict = "holds" if one.holds else "BROKEN"
        seen = "; ".join(one.notes)
        facts = f"{one.jobs:>5}  {one.runs:>5}  {one.seconds:>5.1f}"
        lines.append(f"{verdict:6}  {one.name:{width}}  {facts}  {seen}".rstrip())
        lines += [f"        {problem}" for problem in one.problems]
    return "\n".join([*lines, "", _held(results)])


def markdown(results: Sequence[Result]) -> str:
    """The same for a page."""
    return "\n".join([_HEAD, *map(_row, results), "", _held(results)])


def _held(results: Sequence[Result]) -> str:
    return f"{sum(result.holds for result in results)} of {len(results)} hold"


def _row(result: Result) -> str:
    cells = [
        result.name,
        result.shows,
        str(result.jobs),
        str(result.runs),
        f"{result.seconds:.1f}",
        "; ".join(result.notes),
        "yes" if result.holds else "**no**",
    ]
    return f"| {' | '.join(cells)} |"


def caught(bug: Bug, result: Result) -> str:
    """The problem that betrays the bug; empty when there is none, whatever else broke."""
    return next((p for p in result.problems if any(sign in p for sign in bug.signs)), "")


def catches(found: Sequence[tuple[str, Bug, Result]]) -> str:
    """A line a planted bug, then how many were caught."""
    width = max((len(name) for name, _, _ in found), default=7)
    lines = [f"{'':6}  {'planted':{width}}  by"]
    for name, bug, result in found:
        told = caught(bug, result)
        lines.append(
            f"{'caught' if told else 'MISSED'}  {name:{width}}  {bug.caught_by}: "
            f"{told or 'no line says ' + ' or '.join(map(repr, bug.signs))}"
        )
        if not told:
            lines += [f"        {problem}" for problem in result.problems]
    count = sum(bool(caught(bug, result)) for _, bug, result in found)
    return "\n".join([*lines, "", f"{count} of {len(found)} caught"])
