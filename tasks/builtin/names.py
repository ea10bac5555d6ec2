"""File names as text that JSON, terminals and people can take, and back again.

A name on disk is bytes: it may be no UTF-8, hold line feeds, or characters that turn the text around it.
Printable text stays as it is; a backslash is doubled; every other byte is written ``\\xNN``. The two
functions are each other's inverse, so that a name may travel through params and results.
"""

from __future__ import annotations

import os
import re

_ESCAPED = re.compile(rb"\\(?:x([0-9a-f]{2})|\\)")


def show(name: str) -> str:
    """The readable form of a name as the operating system gave it (``os.fsdecode``)."""
    if name.isprintable() and "\\" not in name:
        return name
    return "".join(_shown(character) for character in name)


def read(shown: str) -> str:
    """The name that ``show`` made readable. Raises ValueError for a text that it cannot have made."""
    if "\\" not in shown:
        return shown
    raw = shown.encode("utf-8")
    rest = _ESCAPED.sub(b"", raw)
    if b"\\" in rest:
        raise ValueError(f"{shown!r} holds a single backslash; write it twice, or a byte as \\xNN.")
    return os.fsdecode(_ESCAPED.sub(_byte, raw))


def brief(shown: str, limit: int) -> str:
    """``shown`` cut in its middle to ``limit`` characters: both ends of a path tell most."""
    if len(shown) <= limit:
        return shown
    head = (limit - 1) // 2
    return f"{shown[:head]}…{shown[len(shown) - (limit - 1 - head) :]}"


def _shown(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))


def _byte(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1], 16)]) if match[1] else b"\\"
