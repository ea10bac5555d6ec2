"""From a handler's signature to the JSON Schema of its params, which the platform checks when a job is made."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any, Literal, Union, get_args, get_origin

from jobsplatform_sdk.json_values import check_json

_PLAIN: Mapping[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    list: {"type": "array"},
    dict: {"type": "object"},
    None: {"type": "null"},
    type(None): {"type": "null"},
}


def schema_of(
    params: Mapping[str, Parameter], function: Callable[..., Any], open_ended: bool
) -> dict[str, Any]:
    """The schema of an object with these params. What JSON Schema cannot say of an annotation is left open."""
    try:
        hints = typing.get_type_hints(function)
    except Exception:
        hints = {}  # a name that exists for type checkers alone
    properties: dict[str, Any] = {}
    for name, param in params.items():
        properties[name] = _of(hints.get(name, Any)) | _default(param)
    required = [name for name, param in params.items() if param.default is param.empty]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": open_ended,
    }


def _default(param: Parameter) -> dict[str, Any]:
    if param.default is param.empty:
        return {}
    try:
        return {"default": check_json(param.default, "default")}
    except ValueError:
        return {}


def _of(hint: Any) -> dict[str, Any]:
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_of(one) for one in inner]}
    if origin is list:
        return {"type": "array", "items": _of(inner[0])}
    if origin is dict and inner[0] is str:
        return {"type": "object", "additionalProperties": _of(inner[1])}
    return {}
