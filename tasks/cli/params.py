"""Params from the command line: ``name=text`` by the handler's schema, ``name:=json``, or a whole object."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jobsplatform.kernel.errors import InvalidInput, UnknownName

_ASSIGNMENT = re.compile(r"([^=:]+)(:?=)(.*)", re.DOTALL)
_WORDS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}
MAX_BYTES = 16 * 2**20
"""Of a file of params: what is longer is refused before it is read whole."""


def gather(whole: str | None, single: Iterable[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """All params: those of ``--params``, then each ``--param`` over them, by the handler's JSON Schema.

    Raises ``InvalidInput``; whether they fit the handler is for the submit to say.
    """
    params = _object(whole) if whole is not None else {}
    seen: set[str] = set()
    for argument in single:
        name, value = assignment(argument, schema)
        if name in seen:
            raise InvalidInput(f"The param {name!r} is given twice.")
        seen.add(name)
        params[name] = value
    return params


def assignment(argument: str, schema: Mapping[str, Any]) -> tuple[str, Any]:
    """``name=text`` or ``name:=json`` as (name, value)."""
    match = _ASSIGNMENT.fullmatch(argument)
    if match is None:
        raise InvalidInput(f"{argument!r} is no param. Expected name=value, or name:=JSON.")
    name, sign, text = match[1].strip(), match[2], match[3]
    properties = schema.get("properties", {})
    if name not in properties and not schema.get("additionalProperties", False):
        raise UnknownName("param", name, properties)
    if sign == ":=":
        return name, _json(text, f"The param {name!r}")
    return name, typed(name, text, properties.get(name, {}), schema)


def typed(name: str, text: str, wanted: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    """``text`` as the type that the param's schema asks for; text itself where text is allowed."""
    kinds = _kinds(wanted, schema)
    if not kinds or "string" in kinds:
        return text
    if "null" in kinds and text.lower() in {"", "null", "none"}:
        return None
    if "boolean" in kinds and text.lower() in _WORDS and not (kinds & {"integer", "number"} and text in "01"):
        return _WORDS[text.lower()]
    if kinds & {"integer", "number"}:
        number = _number(text, whole="number" not in kinds)
        if number is not None:
            return number
    if kinds & {"array", "object"}:
        return _json(text, f"The param {name!r}")
    expected = " or ".join(sorted(kinds - {"null"}))
    raise InvalidInput(f"The param {name!r} is {text!r}. Expected {_an(expected)}.")


def _number(text: str, *, whole: bool) -> int | float | None:
    wanted = text.strip()
    if re.fullmatch(r"[+-]?\d{1,400}", wanted):
        return int(wanted)
    if whole:
        return None
    try:
        return float(wanted)
    except ValueError:
        return None


def _an(word: str) -> str:
    return f"{'an' if word[:1] in 'aeio' else 'a'} {word}"


def _kinds(wanted: Mapping[str, Any], schema: Mapping[str, Any], depth: int = 0) -> set[str]:
    """The JSON types that a property allows; empty when it allows anything."""
    if depth > 10:
        return set()
    reference = wanted.get("$ref")
    if isinstance(reference, str):
        target = schema.get("$defs", {}).get(reference.rpartition("/")[2], {})
        return _kinds(target, schema, depth + 1)
    for key in ("anyOf", "oneOf"):
        if key in wanted:
            options = [_kinds(option, schema, depth + 1) for option in wanted[key]]
            return set() if any(not option for option in options) else set().union(*options)
    if "allOf" in wanted and len(wanted["allOf"]) == 1:
        return _kinds(wanted["allOf"][0], schema, depth + 1)
    if "type" in wanted:
        kind = wanted["type"]
        return set(kind) if isinstance(kind, list) else {kind}
    values = [wanted["const"]] if "const" in wanted else wanted.get("enum", [])
    return {_kind_of(value) for value in values}


def _kind_of(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return "null" if value is None else "number" if isinstance(value, float) else "string"


def _object(source: str) -> dict[str, Any]:
    """The object that ``--params`` means: JSON, ``@file``, or ``-`` for stdin."""
    if source == "-":
        text, what = sys.stdin.read(MAX_BYTES + 1), "Standard input"
    elif source.startswith("@"):
        text, what = _file(source[1:]), f"The file {source[1:]!r}"
    else:
        text, what = source, "--params"
    if len(text) > MAX_BYTES:
        raise InvalidInput(f"{what} is longer than {MAX_BYTES} bytes.")
    value = _json(text, what)
    if not isinstance(value, dict):
        raise InvalidInput(f'{what} must hold a JSON object like {{"name": "value"}}.')
    return value


def _file(name: str) -> str:
    try:
        with Path(name).open("rb") as file:
            return file.read(MAX_BYTES + 1).decode()
    except OSError as error:
        raise InvalidInput(f"The file {name!r} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"The file {name!r} is not UTF-8 text.") from None


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        reason = (
            f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
        )
        raise InvalidInput(f"{what} is no JSON ({reason}).") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names differ: of two values for one name, neither may win silently."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise ValueError(f"the name {name!r} stands twice")
        made[name] = value
    return made
