"""How much work a JSON Schema makes: its subschemas, with every reference followed wherever it stands.

A reference takes a few bytes and stands for all that it leads to; a few dozen that each lead twice to the next make
more work than any computer does. One that leads back to where it stands is followed once a level of the params.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from jobsplatform.kernel.errors import InvalidInput

MOST_SUBSCHEMAS = 5_000
DEEPEST = 100
MOST_STEPS = 300_000
"""So many subschemas may come by on the way down through params whose schema leads back to itself."""

_IN_PLACE = ("not", "if", "then", "else")
_LISTS_IN_PLACE = ("allOf", "anyOf", "oneOf")
_MAPS_IN_PLACE = ("dependentSchemas", "dependencies")
_BELOW = ("additionalProperties", "unevaluatedProperties", "propertyNames", "items", "additionalItems",
          "unevaluatedItems", "contains")  # fmt: skip
_LISTS_BELOW = ("prefixItems", "items")
_MAPS_BELOW = ("properties", "patternProperties")
_ELSEWHERE = ("$dynamicRef", "$recursiveRef")


def deepest_params(document: Mapping[str, Any]) -> int | None:
    """How deep params may be nested that this schema is to look at; None: as deep as any.

    Raises InvalidInput for a schema that makes too much work, or whose references are not of the form ``#/…``.
    """
    walk = _Walk(document)
    walk.visit(document, 0, 0, {"#": 0})
    if walk.returns < 2:
        return None
    return max(1, int(math.log(MOST_STEPS / walk.seen, walk.returns)))


def nesting(value: Any) -> int:
    """How many lists and objects lie in one another."""
    deep, level = 0, [value]
    while level := [each for each in level if isinstance(each, (dict, list))]:
        deep += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    return deep


class _Walk:
    """Counts ``seen`` subschemas, and ``returns`` to one that the way has come through."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._id = "id" if "draft-04" in str(document.get("$schema")) else "$id"
        self.seen = 0
        self.returns = 0

    def visit(self, schema: Any, depth: int, level: int, way: dict[str, int]) -> None:
        """``level``: how far below the params' top; ``way``: the references come through, each with its level."""
        self.seen += 1
        if self.seen > MOST_SUBSCHEMAS:
            raise _fault(f"more than {MOST_SUBSCHEMAS} subschemas, each counted wherever a $ref leads to it")
        if depth > DEEPEST:
            raise _fault(f"nested deeper than {DEEPEST}, with every $ref followed")
        if not isinstance(schema, dict):
            return
        if (depth and self._id in schema) or any(name in schema for name in _ELSEWHERE):
            raise _fault("$dynamicRef, $recursiveRef and an inner $id are not taken; refer by #/…")
        if "$ref" in schema:
            self._follow(schema["$ref"], depth, level, way)
        for inner, below in _inner(schema):
            self.visit(inner, depth + 1, level + below, way)

    def _follow(self, ref: Any, depth: int, level: int, way: dict[str, int]) -> None:
        target = self._find(ref)
        if ref in way:
            if way[ref] == level:
                raise _fault(f"{ref!r} leads to itself without a step down into the params")
            self.returns += 1
            return
        self.visit(target, depth + 1, level, {**way, ref: level})

    def _find(self, ref: Any) -> Any:
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            raise _fault("a $ref leads within the schema: # or #/…")
        found: Any = self._document
        for step in ref[2:].split("/") if len(ref) > 1 else ():
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and name.isascii() and name.isdigit() and int(name[:9]) < len(found):
                found = found[int(name[:9])]
            elif isinstance(found, dict) and name in found:
                found = found[name]
            else:
                raise _fault("a $ref leads nowhere")
        return found


def _inner(schema: dict[str, Any]) -> Iterator[tuple[Any, bool]]:
    """The subschemas, each with whether it is for what lies below."""
    for names, kind, below in (
        (_IN_PLACE, dict, False),
        (_LISTS_IN_PLACE, list, False),
        (_MAPS_IN_PLACE, Mapping, False),
        (_BELOW, dict, True),
        (_LISTS_BELOW, list, True),
        (_MAPS_BELOW, Mapping, True),
    ):
        for name in names:
            value = schema.get(name)
            if not isinstance(value, kind):
                continue
            if kind is dict:
                yield value, below
            else:
                for each in value.values() if isinstance(value, dict) else value:
                    if isinstance(each, dict):
                        yield each, below


def _fault(problem: str) -> InvalidInput:
    return InvalidInput(f"spec: params_schema: {problem}.")
