"""Typed params: strict at the door, the same types and values in the handler."""

import json
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel, ConfigDict, Field

from jobsplatform.kernel.errors import ConfigError, ParamsInvalid
from tasks.params import Schema


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    at: datetime | None = None


@dataclass(eq=False)
class Plain:
    """Equal to nothing but itself."""

    tags: list[str] = field(default_factory=list)


class Item(BaseModel):
    name: str
    price: Decimal = Decimal("0.10")


def schema_of(annotation: Any) -> Schema:
    def handler(value):  # type: ignore[no-untyped-def]
        return value

    handler.__annotations__["value"] = annotation
    return Schema.of(handler)


# The fold of 25 October 2026: 02:30 twice, told apart by the offset.
SECOND_PASS = datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize(
    ("annotation", "typed", "spelling"),
    [
        (int, 7, 7),
        (bool, True, True),
        (float, 1.5, 1.5),
        (float, 1.0, 1),
        (str, "Überprüfung 夜間 🚀", "Überprüfung 夜間 🚀"),
        (datetime, datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC), "2026-01-02T03:04:05.000678Z"),
        (datetime, SECOND_PASS, "2026-10-25T02:30:00+01:00"),
        (date, date(2026, 1, 2), "2026-01-02"),
        (time, time(3, 4), "03:04:00"),
        (timedelta, timedelta(minutes=90), "PT1H30M"),
        (Decimal, Decimal("0.10"), "0.10"),
        (UUID, UUID("019a0000-0000-7000-8000-000000000001"), "019a0000-0000-7000-8000-000000000001"),
        (Path, Path("/usr/share"), "/usr/share"),
        (Colour, Colour.BLUE, "blue"),
        (Literal["fast", "slow"], "slow", "slow"),
        (Point, Point(1, SECOND_PASS), {"x": 1, "at": "2026-10-25T02:30:00+01:00"}),
        (Item, Item(name="tea", price=Decimal("2.50")), {"name": "tea", "price": "2.50"}),
        (list[Item], [Item(name="tea")], [{"name": "tea", "price": "0.10"}]),
        (set[int], {3, 1, 2}, [1, 2, 3]),
        (tuple[int, str], (1, "a"), [1, "a"]),
        (dict[int, str], {1: "a"}, {"1": "a"}),
        (dict[str, Decimal], {"tax": Decimal("1.00")}, {"tax": "1.00"}),
        (bytes, b"abc", "abc"),
        (int | None, None, None),
        (Annotated[int, Field(ge=1)], 1, 1),
    ],
)
def test_a_typed_value_and_its_json_spelling_are_one(annotation: Any, typed: Any, spelling: Any) -> None:
    schema = schema_of(annotation)
    stored = schema.normalise({"value": typed})
    assert stored == {"value": spelling}
    assert schema.normalise({"value": spelling}) == stored
    assert schema.normalise(stored) == stored
    loaded = schema.load(json.loads(json.dumps(stored)))["value"]
    assert isinstance(loaded, type(typed))
    if isinstance(typed, datetime):
        assert loaded.utcoffset() == typed.utcoffset() and loaded.timestamp() == typed.timestamp()
    elif not isinstance(typed, Point):
        assert loaded == typed
    if isinstance(typed, Decimal):
        assert str(loaded) == str(typed)


@pytest.mark.parametrize(
    ("annotation", "value", "words"),
    [
        (int, "1", "expected a valid integer, got '1' (text)"),
        (int, 1.0, "expected a valid integer, got 1.0"),
        (int, True, "expected a valid integer, got True"),
        (int, None, "expected a valid integer, got None"),
        (int, 10**400, "1329 bits"),
        (int, 2**63, "64 bits"),
        (bool, 1, "expected a valid boolean"),
        (bool, "yes", "expected a valid boolean"),
        (float, "1.5", "expected a valid number"),
        (float, True, "expected a valid number"),
        (float, float("nan"), "is NaN"),
        (float, float("inf"), "is Infinity"),
        (str, 1, "expected a valid string, got 1"),
        (str, b"x", "expected a valid string, got a bytes"),
        (str, UUID(int=1), "expected a valid string, got a UUID"),
        (str, "a\0b", "NUL character"),
        (str, "\ud800", "lone surrogate"),
        (datetime, "tomorrow", "expected a valid datetime"),
        (datetime, 1_700_000_000, "expected a valid datetime"),
        (date, "2026-02-30", "expected a valid date"),
        (Decimal, "dear", "expected a valid decimal"),
        (Decimal, Decimal("NaN"), "finite"),
        (UUID, "7", "expected a valid UUID"),
        (Colour, "rde", "did you mean 'red'?"),
        (Literal["fast", "slow"], "fsat", "did you mean 'fast'?"),
        (Point, {"x": "1"}, "x: expected a valid integer"),
        (Item, {"price": "1"}, "name: is missing"),
        (list[Item], [{"name": "a"}, {"name": 1}], "[1].name: expected a valid string"),
        (list[int], ["a"] * 10, "and 7 more faults"),
        (bytes, b"\xff", "write it in base64"),
        (set[int], "abc", "expected a valid array"),
        (Annotated[int, Field(ge=1)], 0, "greater than or equal to 1"),
        (dict, {1: "a", "1": "b"}, "has the key 1; keys must be text"),
        (dict, {None: 1}, "has the key None"),
        (dict[str, Any], {"deep": [b"x"]}, "deep[0] is a bytes"),
        (Any, {1, 2}, "is a set"),
        (Any, b"x", "is a bytes"),
        (Any, datetime(2026, 1, 1, tzinfo=UTC), "is a datetime"),
        (Any, Decimal("0.10"), "is a Decimal"),
        (Any, [float("nan")], "[0] is NaN"),
    ],
)
def test_a_wrong_value_is_told_with_its_name(annotation: Any, value: Any, words: str) -> None:
    with pytest.raises(ParamsInvalid) as caught:
        schema_of(annotation).normalise({"value": value})
    assert "'value'" in caught.value.message
    assert words in caught.value.message
    assert "\n" not in caught.value.message
    assert "pydantic" not in caught.value.message


def sample(
    ctx: Any,
    root: str,
    limit: int = 10,
    tags: list[str] = [],  # noqa: B006
    since: date = date(2026, 1, 1),
) -> None:
    """A handler."""


def test_defaults_are_filled_in_as_they_are_stored_and_never_shared() -> None:
    schema = Schema.of(sample)
    stored = schema.normalise({"root": "/a"})
    assert stored == {"root": "/a", "limit": 10, "tags": [], "since": "2026-01-01"}
    stored["tags"].append("changed")
    assert schema.normalise({"root": "/a"})["tags"] == []
    assert schema.load({"root": "/a"}) == {"root": "/a"}


def test_every_fault_is_told_at_once_with_the_nearest_name() -> None:
    with pytest.raises(ParamsInvalid) as caught:
        Schema.of(sample).normalise({"rot": "/a", "limit": "3", "zzz": 1})
    message = caught.value.message
    assert "Param 'root' is missing" in message
    assert "param 'limit': expected a valid integer" in message
    assert "unknown param 'rot'. Did you mean 'root'?" in message
    assert "unknown param 'zzz'" in message
    assert len(caught.value.facts["faults"]) == 4


@pytest.mark.parametrize("params", [[], "root=/a", None, 7, {1: "a", "root": "/a"}, {None: 1}])
def test_params_must_be_named_values(params: Any) -> None:
    with pytest.raises(ParamsInvalid):
        Schema.of(sample).normalise(params)


def test_stored_params_of_an_older_release_are_told_too() -> None:
    schema = Schema.of(sample)
    with pytest.raises(ParamsInvalid, match="Unknown param 'gone'"):
        schema.load({"root": "/a", "gone": 1})
    with pytest.raises(ParamsInvalid, match="'root' is missing"):
        schema.load({})
    with pytest.raises(ParamsInvalid, match="'limit': expected a valid integer"):
        schema.load({"root": "/a", "limit": "x"})


def test_open_keywords_take_any_json() -> None:
    def handler(root: str, **more: Any) -> None: ...

    schema = Schema.of(handler)
    stored = schema.normalise({"root": "/a", "any": (1, 2)})
    assert stored == {"root": "/a", "any": [1, 2]}
    assert schema.load(stored) == {"root": "/a", "any": [1, 2]}
    with pytest.raises(ParamsInvalid, match="'any' is a bytes"):
        schema.normalise({"root": "/a", "any": b"x"})
    assert schema.json_schema()["additionalProperties"] is True


def test_a_dataclass_without_equality_is_compared_by_content() -> None:
    schema = schema_of(Plain)
    stored = schema.normalise({"value": Plain(["a"])})
    assert stored == {"value": {"tags": ["a"]}}
    assert schema.load(stored)["value"].tags == ["a"]


def test_a_model_can_stand_for_all_params() -> None:
    schema = Schema.of_model(Item, "item")
    assert schema.names == {"name", "price"}
    stored = schema.normalise({"name": "tea"})
    assert stored == {"name": "tea", "price": "0.10"}
    assert schema.load(stored) == {"item": Item(name="tea")}
    with pytest.raises(ParamsInvalid, match="Unknown param 'nmae'. Did you mean 'name'"):
        schema.normalise({"nmae": "tea"})
    with pytest.raises(ParamsInvalid, match="name: expected a valid string, got 1"):
        schema.normalise({"name": 1})
    assert schema.json_schema()["properties"].keys() == {"name", "price"}


def test_a_model_with_aliases_round_trips() -> None:
    class Aliased(BaseModel):
        model_config = ConfigDict(populate_by_name=True)
        from_: date = Field(alias="from")

    schema = Schema.of_model(Aliased, "value")
    stored = schema.normalise({"from": "2026-01-01"})
    assert stored == {"from": "2026-01-01"}
    assert schema.load(stored)["value"].from_ == date(2026, 1, 1)


def test_the_json_schema_names_types_defaults_and_what_is_required() -> None:
    schema = Schema.of(sample).json_schema()
    assert schema["required"] == ["root"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["limit"] == {"type": "integer", "default": 10}
    assert schema["properties"]["since"] == {"type": "string", "format": "date", "default": "2026-01-01"}
    shared = schema_of(list[Item]).json_schema()
    assert shared["properties"]["value"]["items"] == {"$ref": "#/$defs/Item"}
    assert "Item" in shared["$defs"]


class Opaque:
    pass


def optional_by_default(value: int = None) -> None: ...  # type: ignore[assignment]


def untellable(value: Opaque) -> None: ...


def unknown_type(value: "NoSuchType") -> None: ...  # type: ignore[name-defined]  # noqa: F821


def positional(value: int, /) -> None: ...


def many(*values: int) -> None: ...


def bad_default(value: dict = {1: 2}) -> None: ...  # type: ignore[type-arg]  # noqa: B006


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (optional_by_default, "the default of 'value' does not fit"),
        (untellable, "has no JSON form"),
        (unknown_type, "cannot be found"),
        (positional, "given by name"),
        (many, "given by name"),
        (bad_default, "the default of 'value' does not fit"),
        (len, "must be a function"),
    ],
)
def test_a_signature_that_cannot_be_a_schema_is_refused_when_declared(function: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Schema.of(function)
