"""What can be stored as JSON, and as text."""

import json
from collections import OrderedDict, namedtuple
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobsplatform.kernel.errors import ParamsInvalid, ParamsTooLarge
from tasks.json_values import check_json, clean_text, fingerprint, shown

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_json_goes_through_unchanged_and_twice_is_once(value: Any) -> None:
    clean = check_json(value, what="result")
    assert clean == value
    assert check_json(clean, what="result") == clean
    assert json.loads(json.dumps(clean, allow_nan=False)) == value


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Name(StrEnum):
    ADA = "ada"


Point = namedtuple("Point", "x y")


def lots() -> Any:
    yield 1


@pytest.mark.parametrize(
    ("value", "place", "problem"),
    [
        ({"a": 1.5, "b": float("nan"), "c": float("-inf")}, "b", "is NaN"),
        ({"rows": [0, {"odd key": float("-inf")}]}, "rows[1]['odd key']", "is -Infinity"),
        ({"x": float("inf")}, "x", "is Infinity"),
        ({"t": "ab\0cd"}, "t", "NUL character at position 2"),
        ({"t": ["\ud800"]}, "t[0]", "lone surrogate at position 0"),
        ({"k": {"a\0": 1}}, r"k['a\x00']", "NUL character"),
        ({"n": 2**63}, "n", "64 bits"),
        ({"n": -(2**63) - 1}, "n", "64 bits"),
        ({"n": 10**400}, "n", "1329 bits"),
        ({"d": {1: "a", "1": "b"}}, "d", "has the key 1; keys must be text"),
        ({"d": {None: "a"}}, "d", "has the key None"),
        ({"d": {(1, 2): "a"}}, "d", "has the key a tuple"),
        ({"b": b"x"}, "b", "is a bytes, which JSON cannot say. Decode it"),
        ({"s": {1}}, "s", "is a set, which JSON cannot say. Use a list"),
        (
            {"d": datetime(2026, 1, 1, tzinfo=UTC)},
            "d",
            "is a datetime, which JSON cannot say. Write it as text",
        ),
        ({"d": date(2026, 1, 1)}, "d", "isoformat"),
        ({"d": timedelta(1)}, "d", "str(value)"),
        ({"m": Decimal("0.10")}, "m", "is a Decimal"),
        ({"u": uuid4()}, "u", "is a UUID"),
        ({"p": Path("/a")}, "p", "str(value)"),
        ({"e": Colour.RED}, "e", "is a Colour"),
        ({"p": Point(1, 2)}, "p", "is a Point"),
        ({"g": lots()}, "g", "does not yield"),
        ({"o": object()}, "o", "is a object"),
    ],
)
def test_what_json_cannot_say_is_refused_naming_the_place(value: Any, place: str, problem: str) -> None:
    with pytest.raises(ParamsInvalid) as caught:
        check_json(value, what="result")
    assert caught.value.message.startswith("result: ")
    assert caught.value.facts["path"] == place
    assert problem in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("value", "back"),
    [
        ((1, (2,)), [1, [2]]),
        (OrderedDict(a=Name.ADA), {"a": "ada"}),
        (Level.HIGH, 3),
        (1e17, 10**17),
        (1e300, 1e300),
        (2**63 - 1, 2**63 - 1),
    ],
)
def test_what_json_says_in_another_type_comes_as_it_will_be_read(value: Any, back: Any) -> None:
    clean = check_json(value, what="result")
    assert clean == back
    assert type(clean) is type(back)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_nesting_has_an_end() -> None:
    assert check_json(nested(100), what="result") == nested(100)
    with pytest.raises(ParamsInvalid, match="nested deeper than 100"):
        check_json(nested(101), what="result")
    with pytest.raises(ParamsInvalid, match="nested deeper than 100"):
        check_json(nested(100_000), what="result")
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ParamsInvalid, match="or contains itself"):
        check_json(circle, what="result")


def test_size_counts_utf8_bytes() -> None:
    assert check_json("é" * 9, what="params", max_bytes=20) == "é" * 9
    with pytest.raises(ParamsTooLarge, match="22 bytes as JSON, at most 20"):
        check_json("é" * 10, what="params", max_bytes=20)
    with pytest.raises(ParamsTooLarge):
        check_json({"x": "a" * 20_000_000}, what="params", max_bytes=262_144)


def test_lists_within_lists_that_stand_for_more_than_memory_are_refused_at_once() -> None:
    value: Any = []
    for _ in range(60):
        value = [value] * 10
    with pytest.raises(ParamsTooLarge):
        check_json(value, what="result", max_bytes=100_000)


@given(st.text(), st.integers(0, 200))
def test_clean_text_is_storable_and_within_its_limit(text: str, limit: int) -> None:
    clean = clean_text(text, limit)
    clean.encode()
    assert "\0" not in clean
    assert len(clean) <= limit


def test_clean_text_marks_what_it_replaced_and_cut() -> None:
    assert clean_text("a\0b\ud800c", 100) == "a\ufffdb\ufffdc"
    assert clean_text("x" * 100, 50) == "x" * 27 + "… (cut; 100 characters)"
    assert clean_text("Überprüfung 夜間 🚀", 100) == "Überprüfung 夜間 🚀"
    assert clean_text(12, 10) == "12"


def test_a_fingerprint_tells_types_apart_and_not_the_order_of_keys() -> None:
    same = [
        fingerprint("t", {"a": 1, "b": {"c": 2, "d": 3}}),
        fingerprint("t", {"b": {"d": 3, "c": 2}, "a": 1}),
    ]
    assert same[0] == same[1]
    others = {fingerprint("t", {"a": value}) for value in (1, 1.0, True, "1", [1], None, 10**400)}
    assert len(others) == 7
    assert fingerprint("t", {}) != fingerprint("u", {})
    assert fingerprint("t", {"d": date(2026, 1, 1)}) == fingerprint("t", {"d": "2026-01-01"})
    assert fingerprint("t", {"s": {"b", "a", "c"}}) == fingerprint("t", {"s": {"c", "a", "b"}})
    with pytest.raises(ParamsInvalid):
        fingerprint("t", {"d": {1: "a", "1": "b"}})


def test_shown_values_are_short_and_printable() -> None:
    assert shown("a\0é") == r"'a\x00\xe9'"
    assert len(shown("x" * 1000)) < 70
    assert shown({"secret": 1}) == "a dict"
    assert shown(10**5000) == "a whole number of 16610 bits"
