"""The result as a part of a document: under what it came about, then the table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.results import Row
from benchmarks.table import table

BEGIN = "<!-- begin: measured by ./dev bench jobs -->"
END = "<!-- end: measured by ./dev bench jobs -->"


class NoPlace(Exception):
    """The document has no place for a result; the message says in one line what it needs."""


def report(facts: Sequence[str], rows: Sequence[Row]) -> str:
    """Markdown: the facts as a list, then the table and what belongs to it."""
    return "\n".join(f"- {fact}" for fact in facts) + "\n\n" + table(rows)


def check(path: Path) -> None:
    """Raises NoPlace unless the document has both marks, in their order."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NoPlace(f"cannot read {path}: {error}") from error
    if text.count(BEGIN) != 1 or END not in text.partition(BEGIN)[2]:
        raise NoPlace(f"{path} needs these two lines, the result goes between them: {BEGIN} and {END}")


def write(path: Path, result: str) -> None:
    """Put a result between the marks of the document, in place of the one before."""
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n\n{result}\n\n{END}{after}", encoding="utf-8")
