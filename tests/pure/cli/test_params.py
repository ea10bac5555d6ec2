"""Params typed on a command line become what the handler's schema asks for."""

import io

import pytest

from jobsplatform.kernel.errors import InvalidInput
from tasks.cli import params

SCHEMA = {
    "type": "object",
    "properties": {
        "root": {"type": "string"},
        "depth": {"type": "integer"},
        "ratio": {"type": "number"},
        "deep": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "options": {"type": "object"},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "mode": {"$ref": "#/$defs/Mode"},
        "level": {"enum": [1, 2, 3]},
        "free": {},
    },
    "$defs": {"Mode": {"enum": ["fast", "slow"], "type": "string"}},
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("root=/usr/share", "/usr/share"),
        ("root=5", "5"),
        ("root=", ""),
        ("root=a=b", "a=b"),
        ("depth=5", 5),
        ("depth=-5", -5),
        ("ratio=5", 5),
        ("ratio=2.5", 2.5),
        ("deep=true", True),
        ("deep=no", False),
        ("deep=1", True),
        ('tags=["a"]', ["a"]),
        ("options={}", {}),
        ("limit=null", None),
        ("limit=", None),
        ("limit=7", 7),
        ("note=null", "null"),
        ("note:=null", None),
        ("mode=fast", "fast"),
        ("level=2", 2),
        ("free=5", "5"),
        ("free:=5", 5),
        ('root:="x"', "x"),
    ],
)
def test_a_param_is_read_by_its_schema(argument, value):
    name, got = params.assignment(argument, SCHEMA)
    assert (got, type(got)) == (value, type(value))
    assert name == argument.partition("=")[0].rstrip(":")


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("depht=5", "Did you mean 'depth'"),
        ("depth=five", "'depth' is 'five'. Expected an integer"),
        ("depth=1.5", "Expected an integer"),
        ("deep=maybe", "Expected a boolean"),
        ("tags=a", "'tags' is no JSON"),
        ("options:={", "'options' is no JSON"),
        ('options:={"a": 1, "a": 2}', "stands twice"),
        ("options:=" + "[" * 100_000, "is no JSON"),
        ("ratio:=" + "9" * 5000, "is no JSON"),
        ("root", "Expected name=value"),
        ("=5", "Expected name=value"),
    ],
)
def test_a_wrong_param_says_what_was_expected(argument, words):
    with pytest.raises(InvalidInput) as caught:
        params.assignment(argument, SCHEMA)
    assert words in caught.value.message


def test_a_handler_that_takes_any_name_takes_any_name():
    assert params.assignment("anything=x", {"additionalProperties": True}) == ("anything", "x")


def test_single_params_go_over_the_whole_object(tmp_path, monkeypatch):
    file = tmp_path / "params.json"
    file.write_text('{"root": "/a", "depth": 1}')
    assert params.gather(f"@{file}", ["depth=2"], SCHEMA) == {"root": "/a", "depth": 2}
    monkeypatch.setattr("sys.stdin", io.StringIO('{"root": "/b"}'))
    assert params.gather("-", [], SCHEMA) == {"root": "/b"}
    assert params.gather('{"root": "/c"}', [], SCHEMA) == {"root": "/c"}
    assert params.gather(None, [], SCHEMA) == {}


@pytest.mark.parametrize(
    ("whole", "words"),
    [
        ("[1]", "must hold a JSON object"),
        ("{", "is no JSON"),
        ("@/no/such/file", "cannot be read"),
        ("@/", "cannot be read"),
    ],
)
def test_a_wrong_object_is_refused(whole, words):
    with pytest.raises(InvalidInput, match=words):
        params.gather(whole, [], SCHEMA)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    file = tmp_path / "params"
    file.write_bytes(b"\xff\xfe{}")
    with pytest.raises(InvalidInput, match="not UTF-8"):
        params.gather(f"@{file}", [], SCHEMA)


def test_a_param_given_twice_is_refused():
    with pytest.raises(InvalidInput, match="given twice"):
        params.gather(None, ["depth=1", "depth=2"], SCHEMA)
