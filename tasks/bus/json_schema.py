"""Params described by a JSON Schema that a sidecar has sent.

Whoever wrote it is a stranger: references lead nowhere outside, and patterns are matched in linear time.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from jobsplatform.kernel.errors import InvalidInput, ParamsInvalid, did_you_mean
from tasks.bus.schema_size import deepest_params, nesting
from tasks.json_values import check_json, clean_text, path_of
from tasks.params import Schema

SCHEMA_MAX_BYTES = 65_536
_MOST_FAULTS = 5
_FAULT_LENGTH = 300


class JsonSchema(Schema):
    """The params of a bound type. Without a ``document`` any object fits."""

    def __init__(self, document: Mapping[str, Any] | None = None) -> None:
        """Raises InvalidInput for what is no schema of an object."""
        self._document = dict(document) if document is not None else {"type": "object"}
        self._validator, self._deepest = _validator(self._document)
        properties = self._document.get("properties")
        self._properties: dict[str, Any] = dict(properties) if isinstance(properties, Mapping) else {}
        # A reference or combination may name params that are not listed here.
        closed = self._document.get("additionalProperties") is False
        super().__init__([], open_ended=not closed)
        self._defaults = {
            name: each["default"]
            for name, each in self._properties.items()
            if isinstance(each, Mapping) and "default" in each
        }

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._properties)

    def normalise(self, params: Mapping[str, Any]) -> dict[str, Any]:
        given: dict[str, Any] = check_json(dict(self._named(params)), what="params")
        for name, default in self._defaults.items():
            if name not in given:
                given[name] = copy.deepcopy(default)
        if self._deepest is not None and nesting(given) > self._deepest:
            raise ParamsInvalid(
                f"params: nested deeper than {self._deepest}; so deep this schema, which leads back to itself, looks."
            )
        faults = [_told(error, self._properties) for error in _some(self._validator, given)]
        if faults:
            text = "; ".join(faults)
            raise ParamsInvalid(f"{text[0].upper()}{text[1:]}.", faults=faults)
        return given

    def load(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return dict(params)

    def json_schema(self) -> dict[str, Any]:
        return copy.deepcopy(self._document)


def _validator(document: Any) -> tuple[Any, int | None]:
    if not isinstance(document, dict):
        raise InvalidInput("spec: params_schema: expected a JSON Schema object.")
    size = len(json.dumps(document).encode())
    if size > SCHEMA_MAX_BYTES:
        raise InvalidInput(
            f"spec: params_schema: {size} bytes as JSON, at most {SCHEMA_MAX_BYTES} are stored."
        )
    try:
        check_json(document, what="params_schema")
    except ParamsInvalid as error:
        raise InvalidInput(f"spec: {error.message}") from None
    if document.get("type", "object") != "object":
        raise InvalidInput('spec: params_schema: params are an object; say "type": "object".')
    deepest = deepest_params(document)
    import jsonschema_rs  # noqa: PLC0415 (it takes 5 MiB, and most workers know no type of a sidecar)

    try:
        validator = jsonschema_rs.validator_for(
            document, pattern_options=jsonschema_rs.RegexOptions(), offline=True
        )
    except ValueError as error:
        reason = clean_text(str(error).splitlines()[0], _FAULT_LENGTH)
        raise InvalidInput(f"spec: params_schema: it is no sound JSON Schema: {reason}") from None
    return validator, deepest


def _some(validator: Any, value: Any) -> list[Any]:
    found = []
    for error in validator.iter_errors(value):
        found.append(error)
        if len(found) == _MOST_FAULTS:
            break
    return found


def _told(error: Any, properties: Mapping[str, Any]) -> str:
    place = path_of(tuple(error.instance_path))
    message = clean_text(error.message.splitlines()[0], _FAULT_LENGTH)
    unexpected = getattr(error.kind, "unexpected", None)
    if unexpected and not place:
        return f"unknown param {unexpected[0]!r}.{did_you_mean(unexpected[0], properties)}".rstrip(".")
    return f"param {place}: {message}" if place else message
