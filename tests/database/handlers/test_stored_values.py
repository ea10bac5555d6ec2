"""What passes the door comes back from the database as the same value of the same type, on both databases."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tasks.json_values import check_json
from tasks.models import Job
from tests.database.handlers.rows import running_job
from tests.pure.handlers.test_json_values import JSON

pytestmark = pytest.mark.django_db


def types_of(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: types_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return [types_of(item) for item in value]
    return type(value)


def stored(value: Any) -> Any:
    job = running_job(result=check_json(value, what="result"), params={"value": check_json(value, what="p")})
    back = Job.objects.get(id=job.id)
    assert back.params == {"value": back.result}
    return back.result


@pytest.mark.parametrize(
    "value",
    [
        {"b": 1, "a": [True, None, "x"], "": {}},
        [1.0, 0.1, 1e15, 1e-7, 5e-324, 123456.789],
        [1e16, 1e17, -9e18],
        [2**63 - 1, -(2**63), 0],
        ["Überprüfung", "夜間", "🚀", "نسخة", "\u2028 \ufffd \x01 \\ \" ' %s"],
        "x" * 200_000,
        [[[[]]]],
    ],
)
def test_values_keep_their_types(value: Any) -> None:
    clean = check_json(value, what="result")
    back = stored(value)
    assert back == clean
    assert types_of(back) == types_of(clean)


def test_floats_beyond_64_bits_keep_their_value() -> None:
    assert [float(number) for number in stored([1e19, 1e300, -1e308])] == [1e19, 1e300, -1e308]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(JSON)
def test_any_value_that_passes_the_door_comes_back_equal(value: Any) -> None:
    back = stored(value)
    assert back == check_json(value, what="result")
    json.dumps(back, allow_nan=False)
