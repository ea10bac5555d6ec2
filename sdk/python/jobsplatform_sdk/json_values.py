"""What can be stored as JSON, checked before it is sent."""

from __future__ import annotations

import json
from typing import Any


def check_json(value: Any, what: str) -> Any:
    """``value`` as the platform will give it back (tuples as lists). Raises ValueError, saying what is wrong."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{what} cannot be stored as JSON: {error}.") from None
    stored = json.loads(text)
    _refuse_text(stored, what)
    return stored


def _refuse_text(value: Any, what: str) -> None:
    if isinstance(value, str):
        if "\x00" in value or any("\ud800" <= char <= "\udfff" for char in value):
            raise ValueError(f"{what} cannot be stored: text with NUL or half a surrogate pair.")
    elif isinstance(value, dict):
        for key, inner in value.items():
            _refuse_text(key, what)
            _refuse_text(inner, f"{what}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            _refuse_text(inner, f"{what}[{number}]")


def clean_text(value: object, limit: int) -> str:
    """Any text so that it can be stored: no NUL, no half pairs, at most ``limit`` characters."""
    try:
        text = str(value)
    except Exception as error:
        text = f"(a {type(value).__name__} whose text cannot be read: {type(error).__name__})"
    text = text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= limit else text[: limit - 1] + "…"
