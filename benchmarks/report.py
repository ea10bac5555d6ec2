"""The result as a part of a document: under what it came about, then the table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.results import Row
from benchmarks.table import table

BEGIN = "<!-- begin: measured by ./dev bench {} -->"
END = "<!-- end: measured by ./dev bench {} -->"
"""The marks of a result, with what was measured in their gap."""


class NoPlace(Exception):
    """The document has no place for a result; the message says in one line what it needs."""


def report(facts: Sequence[str], rows: Sequence[Row]) -> str:
    """Markdown: the facts as a list, then the table and what belongs to it."""
    return "\n".join(f"- {fact}" for fact in facts) + "\n\n" + table(rows)


def check(path: Path, what: str) -> None:
    """Raises NoPlace unless the document has both marks of ``what``, in their order."""
    begin, end = BEGIN.format(what), END.format(what)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NoPlace(f"cannot read {path}: {error}") from error
    if text.count(begin) != 1 or end not in text.partition(begin)[2]:
        raise NoPlace(f"{path} needs these two lines, the result goes between them: {begin} and {end}")


def write(path: Path, result: str, what: str) -> None:
    """Put a result between the marks of ``what`` in the document, in place of the one before."""
    begin, end = BEGIN.format(what), END.format(what)
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    path.write_text(f"{before}{begin}\n\n{result}\n\n{end}{after}", encoding="utf-8")
