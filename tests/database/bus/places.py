"""Every place of a method's request, by the OpenAPI schema, at which an object may carry one more field."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from tasks.bus import api

Schema = dict[str, Any]
Path = tuple[str | int, ...]

ID = "01890a5d-ac96-774b-bcce-b302099a8057"
SAMPLES = {"string": "a", "integer": 1, "number": 1.0, "boolean": True, "null": None}
DEEPEST = 6


class Requests:
    """The requests of the API: ``methods``, and for each the bodies with an object somewhere."""

    def __init__(self) -> None:
        document = api.schema()
        self._components = document["components"]["schemas"]
        self.methods = {
            address.removeprefix("/bus/v1/"): operations["post"]["requestBody"]["content"][
                "application/json"
            ]["schema"]
            for address, operations in document["paths"].items()
        }

    def bodies(self, method: str) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Each place of an object, and a body that has an object there."""
        yield from self._objects(self.methods[method], (), 0)

    def _objects(self, schema: Schema, path: Path, depth: int) -> Iterator[tuple[Path, Any]]:
        for kind in self._kinds(schema):
            if depth > DEEPEST:
                return
            if kind.get("type") == "object" or "properties" in kind:
                yield path, self.sample(kind)
                for name, inner in kind.get("properties", {}).items():
                    for place, value in self._objects(inner, (*path, name), depth + 1):
                        yield place, {**self.sample(kind), name: value}
            elif kind.get("type") == "array":
                for place, value in self._objects(kind["items"], (*path, 0), depth + 1):
                    yield place, [value]
            elif "type" not in kind and not kind.keys() & {"enum", "const"}:
                yield path, {}  # any JSON

    def _kinds(self, schema: Schema) -> Iterator[Schema]:
        if "$ref" in schema:
            yield from self._kinds(self._components[schema["$ref"].rpartition("/")[2]])
        elif alternatives := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
            for each in alternatives:
                yield from self._kinds(each)
        else:
            yield schema

    def sample(self, schema: Schema) -> Any:
        """A small value that the schema allows, mostly."""
        kind = next(self._kinds(schema))
        if "const" in kind:
            return kind["const"]
        if "enum" in kind:
            return kind["enum"][0]
        if kind.get("type") == "array":
            return [self.sample(kind["items"])]
        if "properties" in kind or kind.get("type") == "object":
            wanted = kind.get("required", ())
            return {name: self.sample(kind["properties"][name]) for name in wanted}
        if kind.get("format") == "uuid":
            return ID
        if kind.get("format") == "date-time":
            return "2026-01-01T00:00:00Z"
        return SAMPLES.get(kind.get("type", "null"))


def with_field(body: Any, path: Path, name: str, value: Any) -> Any:
    """A copy of ``body`` whose object at ``path`` has one more field."""
    changed = copy.deepcopy(body)
    place = changed
    for step in path:
        place = place[step]
    place[name] = value
    return changed
