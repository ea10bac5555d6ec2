"""No secret reaches a log line, whatever it is called or wherever it hides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from jobsplatform.telemetry import redact

SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    "name",
    ["password", "DB_PASSWORD", "passwd", "token", "health_token", "Authorization", "authorisation", "secret",
     "client_secret", "SECRET_KEY", "api_key", "apiKey", "X-Api-Key", "private_key", "cookie", "Set-Cookie"],
)  # fmt: skip
def test_values_under_a_secret_name_are_masked(name: str) -> None:
    assert redact.fields({name: SECRET}) == {name: "***"}


@pytest.mark.parametrize("name", ["job", "count", "author", "key_count", "path", "bypass_reason", "compass"])
def test_other_names_are_shown(name: str) -> None:
    assert redact.fields({name: "plain"}) == {name: "plain"}


@pytest.mark.parametrize(
    "hidden",
    [
        {"extra": {"deep": [{"password": SECRET}]}},
        {"value": SecretStr(SECRET)},
        {"values": (SecretStr(SECRET),)},
        {"error": f"could not connect to postgresql://jobs:{SECRET}@db:5432/jobs"},
        {"error": f"redis://:{SECRET}@cache/0 refused"},
        {"headers": f"Authorization: Bearer {SECRET}"},
        {"headers": [f"basic {SECRET}"]},
        {"extra": {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"password": SECRET}}}}}}}}},
    ],
)
def test_secrets_are_found_wherever_they_hide(hidden: dict[str, object]) -> None:
    assert SECRET not in repr(redact.fields(hidden))


def test_the_rest_of_a_text_is_kept() -> None:
    told = "could not connect to postgresql://jobs:pw@db:5432/jobs as jobs"
    assert redact.text(told) == "could not connect to postgresql://***@db:5432/jobs as jobs"


def test_the_given_mapping_is_left_alone() -> None:
    given_fields = {"token": SECRET, "extra": {"token": SECRET}}
    redact.fields(given_fields)
    assert given_fields == {"token": SECRET, "extra": {"token": SECRET}}


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20))  # noqa: E501  # fmt: skip
def test_any_value_can_be_shown(value: object) -> None:
    redact.fields({"extra": value})
