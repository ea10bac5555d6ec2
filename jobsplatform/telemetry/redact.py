"""Keeps secrets out of log lines: by the type of a value, its name, and its look. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import SecretBytes, SecretStr

MASK = "***"
DEPTH = 6
"""Deeper structures are cut: a line is no place for them."""

_NAMES = re.compile(
    r"passw|passphrase|secret|token|authori[sz]ation|api_?-?key|private_?-?key|credential|cookie|session_?-?key",
    re.IGNORECASE,
)
# user:password@ in an address, and what follows "Bearer" or "Basic" in a header that found its way into text.
_ADDRESS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)[^/\s@]*@", re.IGNORECASE)
# A token of an app wherever it stands; its public part may be told.
_APP_TOKEN = re.compile(r"\b(?P<public>jp_[0-9a-f]{32})_[A-Za-z0-9_-]+")
_HEADER = re.compile(r"\b(?P<kind>bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a value under this name is never shown."""
    return _NAMES.search(name) is not None


def text(value: str) -> str:
    """``value`` without passwords in addresses and without bearer tokens."""
    if "://" in value:
        value = _ADDRESS.sub(rf"\g<scheme>{MASK}@", value)
    if "earer " in value or "asic " in value or "EARER " in value or "ASIC " in value:
        value = _HEADER.sub(rf"\g<kind> {MASK}", value)
    if "jp_" in value:
        value = _APP_TOKEN.sub(rf"\g<public>_{MASK}", value)
    return value


def fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the mapping with each secret masked, at any depth."""
    return {name: MASK if is_secret_name(name) else _value(item, DEPTH) for name, item in values.items()}


def _value(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return text(value)
    if value is None or kind is int or kind is float or kind is bool:
        return value
    if isinstance(value, SecretStr | SecretBytes):
        return MASK
    if depth == 0:
        return "…"
    if isinstance(value, Mapping):
        return {
            str(name): MASK if is_secret_name(str(name)) else _value(item, depth - 1)
            for name, item in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_value(item, depth - 1) for item in value]
    return text(str(value))
