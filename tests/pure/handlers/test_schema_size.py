"""Schemas that would make endless work are refused before anybody looks at params by them."""

from __future__ import annotations

from typing import Any

import pytest

from jobsplatform.kernel.errors import InvalidInput, ParamsInvalid
from tasks.bus.json_schema import JsonSchema
from tasks.bus.schema_size import deepest_params

Document = dict[str, Any]

NODE = {
    "type": "object",
    "properties": {
        side: {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Node"}]} for side in ("left", "right")
    },
    "additionalProperties": False,
}
TREE = {"properties": {"root": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": NODE}}


def doubling(keyword: str, levels: int) -> Document:
    """Each definition leads twice to the next."""
    steps = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"allOf": [{"$ref": "#/$defs/d0"}], "$defs": {**steps, f"d{levels}": {"type": "object"}}}


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf", "prefixItems"])
def test_references_that_double_are_refused(keyword: str) -> None:
    with pytest.raises(InvalidInput, match="more than 5000 subschemas"):
        JsonSchema(doubling(keyword, 40))
    assert JsonSchema(doubling("allOf", 5)).normalise({}) == {}


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"$ref": "#"}]},
        {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}},
        {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        {"$ref": "#/$defs/none"},
        {"$ref": 5},
        {"properties": {"a": {"$dynamicRef": "#a"}}},
        {"properties": {"a": {"$id": "https://other.example/", "$ref": "#/a"}}},
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "properties": {"a": {"id": "https://other.example/", "type": "object"}},
        },
        {
            "$ref": "#/$defs/d0",
            "$defs": {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(150)} | {"d150": {}},
        },
    ],
    ids=lambda schema: str(schema)[:60],
)
def test_references_that_cannot_be_followed_are_refused(schema: Document) -> None:
    with pytest.raises(InvalidInput, match="params_schema"):
        JsonSchema(schema)


def test_names_and_values_that_look_like_references_are_none() -> None:
    schema = {"properties": {"$ref": {"type": "integer"}, "$id": {"const": {"$ref": "elsewhere"}}}}
    assert JsonSchema(schema).normalise({"$ref": 5}) == {"$ref": 5}
    with pytest.raises(ParamsInvalid):
        JsonSchema(schema).normalise({"$ref": "five"})


def test_a_schema_that_leads_back_to_itself_looks_so_deep_and_no_deeper() -> None:
    deepest = deepest_params(TREE)
    assert deepest is not None and deepest >= 12

    def tree(levels: int) -> Document:
        return {"left": tree(levels - 1), "right": None} if levels else {}

    schema = JsonSchema(TREE)
    schema.normalise({"root": tree(deepest - 2)})
    with pytest.raises(ParamsInvalid):
        schema.normalise({"root": {"middle": {}}})
    with pytest.raises(ParamsInvalid, match="nested deeper"):
        schema.normalise({"root": tree(deepest)})


def test_a_list_of_itself_may_be_as_deep_as_any() -> None:
    schema = {"properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}
    assert deepest_params(schema) is None


def test_two_ways_back_through_one_place_do_not_double_with_each_level() -> None:
    way = {"properties": {"a": {"$ref": "#"}}, "required": ["z"]}
    schema = JsonSchema({"anyOf": [way, way]})
    params: Document = {}
    for _ in range(60):
        params = {"a": params}
    with pytest.raises(ParamsInvalid, match="nested deeper"):
        schema.normalise(params)
