"""Text for a terminal: how wide it is, cut to a width, without anything that could steer the terminal."""

from __future__ import annotations

import unicodedata

# Marks that reorder what stands beside them: one in a job's name would shuffle its neighbours' columns.
_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")
_JOINERS = frozenset("\u200b\u200c\u200d\ufe0e\ufe0f")


def plain(value: object) -> str:
    """One harmless line: breaks become blanks; control and reordering characters become ``\ufffd``."""
    text = str(value)
    if text.isascii() and text.isprintable():
        return text
    return "".join(_harmless(character) for character in text)


def printable(value: object) -> str:
    """Like ``plain``, but line breaks and tabs stay (for tracebacks)."""
    return "\n".join(plain(line.replace("\t", "    ")) for line in str(value).splitlines())


def _harmless(character: str) -> str:
    if character in "\n\r\t":
        return " "
    if character in _REORDERING or unicodedata.category(character) in {"Cc", "Cs"}:
        return "\ufffd"
    return character


def width(text: str) -> int:
    """Columns that ``text`` takes on a terminal: two for East Asian wide ones, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or character in _JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def cut(text: str, limit: int) -> str:
    """``text`` in at most ``limit`` columns; ``…`` marks what was cut."""
    if width(text) <= limit:
        return text
    used, kept = 0, []
    for character in text:
        used += _columns(character)
        if used > limit - 1:
            break
        kept.append(character)
    return "".join(kept) + "…"


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """``text`` filled up with blanks to ``columns``."""
    blanks = " " * max(0, columns - width(text))
    return blanks + text if right else text + blanks
