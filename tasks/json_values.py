"""What can be stored: JSON that both databases give back as it was, text that neither refuses. Pure."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import math
import re
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pydantic_core import to_jsonable_python

from jobsplatform.kernel.errors import ParamsInvalid, ParamsTooLarge

MAX_DEPTH = 100
LARGEST_INT = 2**63 - 1
SMALLEST_INT = -(2**63)
# From here on Python writes whole floats as 1e+16, which PostgreSQL gives back as an int and SQLite does not.
EXACT_FLOATS_END = 1e16
UNLIMITED = 2**40
SHOWN = 60
ELSEWHERE = "Store it elsewhere and pass its place."

_LONGEST_ESCAPE = len(r"\u001f")
_LONGEST_NUMBER = 40  # and its quotes, colon and comma
_NUMBERS = frozenset({bool, int, float})

_encode = json.JSONEncoder(ensure_ascii=False).encode
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def clean_text(text: object, limit: int) -> str:
    """``text`` as both databases can store it, at most ``limit`` characters.

    NUL and lone surrogates become U+FFFD; a cut is marked with the length of the whole.
    """
    whole = _UNSTORABLE.sub("\ufffd", str.__str__(text) if isinstance(text, str) else str(text))
    if len(whole) <= limit:
        return whole
    mark = f"… (cut; {len(whole)} characters)"
    return whole[: limit - len(mark)] + mark if limit > len(mark) else whole[:limit]


def shown(value: object) -> str:
    """A value for a message: scalars as they are written, shortened; of all else only the type."""
    if value is None or isinstance(value, (bool, int, float, str)):
        if isinstance(value, int) and not SMALLEST_INT <= value <= LARGEST_INT:
            return f"a whole number of {value.bit_length()} bits"
        text = ascii(str.__str__(value)) if isinstance(value, str) else repr(value)
        return text if len(text) <= SHOWN else text[:SHOWN] + "…"
    return f"a {type(value).__name__}"


def path_of(parts: tuple[str | int, ...]) -> str:
    """``('rows', 0, 'odd key')`` → ``rows[0]['odd key']``."""
    text = ""
    for part in parts:
        if isinstance(part, str) and _NAME.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{shown(part)}]"
    return text


def check_json(value: Any, *, what: str, max_bytes: int = UNLIMITED) -> Any:
    """``value`` as it will be read back: tuples as lists, subclasses of text and numbers as plain ones.

    ``what`` begins the message of an error (``"result"``), which also names the path inside the value. Raises
    ParamsInvalid for what JSON or one of the databases cannot keep (NaN, infinity, ints outside ±2^63, NUL,
    lone surrogates, keys that are no text, other types, nesting deeper than 100), ParamsTooLarge past
    ``max_bytes`` of UTF-8.
    """
    if max_bytes >= UNLIMITED and _is_sound(value):
        return value
    clean = _Walk(what, max_bytes).value(value, ())
    if max_bytes >= UNLIMITED:
        return clean
    size = len(_encode(clean).encode())
    if size > max_bytes:
        raise ParamsTooLarge(
            f"{what}: {size} bytes as JSON, at most {max_bytes} are stored. {ELSEWHERE}",
            size=size,
            limit=max_bytes,
        )
    return clean


def _is_sound(value: Any) -> bool:
    """Is it a scalar that is stored as it is? False only means that a closer look is needed."""
    kind = type(value)
    if kind is str:
        return _UNSTORABLE.search(value) is None
    return kind is bool or value is None or (kind is int and SMALLEST_INT <= value <= LARGEST_INT)


def is_small(params: Mapping[str, Any], max_bytes: int) -> bool:
    """Are these clean params, each a scalar, below ``max_bytes`` of JSON in any case? False may be either.

    Whoever gets True is spared ``check_json`` for the whole, which would write it to measure it.
    """
    size = 2
    for name, value in params.items():
        kind = type(value)
        if kind is str:
            size += _LONGEST_ESCAPE * len(value)
        elif not (kind in _NUMBERS or value is None):
            return False
        size += _LONGEST_ESCAPE * len(name) + _LONGEST_NUMBER
    return size <= max_bytes


def _whole(digits: str) -> int | float:
    # PostgreSQL writes 1e300 with 301 digits. No int that large is ever stored, so it was a float.
    number = int(digits)
    return number if SMALLEST_INT <= number <= LARGEST_INT else float(digits)


_decoder: Any = json.JSONDecoder(parse_int=_whole)


class StoredJSON:
    """Reads what ``check_json`` let through as it was written, from either database.

    All share one decoder: Django makes one of these for each value, and a decoder costs more than a short value.
    """

    decode = staticmethod(_decoder.decode)
    scan_once = staticmethod(_decoder.scan_once)


class _Walk:
    """One pass over a value; refuses as soon as it has seen more parts than bytes are allowed."""

    def __init__(self, what: str, max_bytes: int) -> None:
        self.what = what
        self.max_bytes = max_bytes
        self.seen = 0

    def refuse(self, path: tuple[str | int, ...], problem: str) -> ParamsInvalid:
        place = path_of(path)
        where = f"{self.what}: {place}" if place else self.what
        return ParamsInvalid(f"{where} {problem}", what=self.what, path=place)

    def value(self, value: Any, path: tuple[str | int, ...]) -> Any:
        self.seen += 1
        if self.seen > self.max_bytes:
            # A few lists inside one another can stand for more parts than memory holds.
            raise ParamsTooLarge(
                f"{self.what}: more than {self.max_bytes} bytes as JSON. {ELSEWHERE}",
                limit=self.max_bytes,
            )
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            return self.text(value, path)
        if isinstance(value, int):
            if not SMALLEST_INT <= value <= LARGEST_INT:
                raise self.refuse(path, f"is {shown(value)}; ints go up to 2^63. Write it as text.")
            return int(value)
        if isinstance(value, float):
            return self.number(value, path)
        if len(path) >= MAX_DEPTH:
            raise self.refuse(path[:3], f"is nested deeper than {MAX_DEPTH} levels (or contains itself).")
        if isinstance(value, Mapping):
            return {self.key(key, path): self.value(item, (*path, key)) for key, item in value.items()}
        if type(value) in (list, tuple) or (isinstance(value, list)):
            return [self.value(item, (*path, index)) for index, item in enumerate(value)]
        raise self.refuse(path, f"is a {type(value).__name__}, which JSON cannot say. {advice(value)}")

    def key(self, key: Any, path: tuple[str | int, ...]) -> str:
        if not isinstance(key, str):
            raise self.refuse(
                path, f"has the key {shown(key)}; keys must be text, else 1 and '1' would become one key."
            )
        return self.text(key, (*path, key))

    def text(self, value: str, path: tuple[str | int, ...]) -> str:
        bad = _UNSTORABLE.search(value)
        if bad is not None:
            kind = "a NUL character" if bad[0] == "\x00" else "a lone surrogate"
            raise self.refuse(path, f"has {kind} at position {bad.start()}; remove or replace it.")
        return str.__str__(value)

    def number(self, value: float, path: tuple[str | int, ...]) -> float | int:
        if not math.isfinite(value):
            name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
            raise self.refuse(path, f"is {name}, which JSON cannot say. Use None or a text.")
        if EXACT_FLOATS_END <= abs(value) < LARGEST_INT:
            return int(value)
        return float(value) + 0.0  # of two zeros PostgreSQL knows one


def advice(value: Any) -> str:
    """What to write instead of a value that JSON cannot say."""
    if inspect.iscoroutine(value) or inspect.isawaitable(value):
        return "It was never awaited: await it, or declare the handler `async def`."
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        return "Nothing of it has run: a handler returns its result, e.g. list(…), and does not yield."
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "Decode it to text, or write it in base64."
    if isinstance(value, (set, frozenset)):
        return "Use a list: sorted(…)."
    if hasattr(value, "isoformat"):
        return "Write it as text: value.isoformat()."
    if isinstance(value, (Decimal, UUID, PurePath, timedelta)):
        return "Write it as text: str(value)."
    if hasattr(value, "_meta") and hasattr(value, "pk"):
        return "It is a database row: use its id, value.pk."
    if hasattr(value, "query") and hasattr(value, "model"):
        return "It is a database query: use list(query.values_list('pk', flat=True))."
    if hasattr(value, "model_dump"):
        return "Use value.model_dump(mode='json')."
    if dataclasses.is_dataclass(value):
        return "Use dataclasses.asdict(value)."
    if isinstance(value, tuple):
        return "Use a list, or value._asdict()."
    return "Use text, numbers, true/false, None, lists and dicts with text keys."


def fingerprint(job_type: str, params: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of a request as sent. The order of keys does not matter; 1, 1.0, true and "1" differ.

    Values that JSON cannot say count by their usual JSON spelling. Raises ParamsInvalid for mixed keys.
    """
    try:
        canonical = _canonical([job_type, params])
    except (TypeError, ValueError, RecursionError) as error:
        raise ParamsInvalid(f"params cannot be written as JSON: {clean_text(error, 200)}.") from None
    return hashlib.sha256(canonical.encode()).hexdigest()


def _spelling(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        return sorted(json.dumps(item, sort_keys=True, default=_spelling) for item in value)
    if isinstance(value, Mapping):
        return dict(value)
    return to_jsonable_python(value, bytes_mode="base64", by_alias=True, fallback=repr)


_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_spelling).encode
