"""Text that can be stored and sent: JSON allows two things that no database and no frame can carry. Pure."""

from __future__ import annotations

from typing import Any


def is_plain(text: str) -> bool:
    """Has it neither NUL nor half a character (a surrogate by itself)?"""
    if "\x00" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def all_plain(value: Any) -> bool:
    """The same of every text in a value that was JSON, names of fields too. However deep it is: no recursion."""
    rest = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, str):
            if not is_plain(one):
                return False
        elif isinstance(one, dict):
            rest += one
            rest += one.values()
        elif isinstance(one, list):
            rest += one
    return True
