"""Any name on disk becomes text that can be stored and shown, and that text becomes the name again."""

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.builtin.names import brief, read, show

names = st.binary(min_size=1, max_size=60).map(lambda raw: os.fsdecode(raw.replace(b"\0", b"")))


@settings(deadline=None)
@given(names)
def test_a_shown_name_is_printable_json_and_reads_back(name: str) -> None:
    shown = show(name)
    assert shown.isprintable()
    assert json.loads(json.dumps(shown).encode()) == shown
    assert read(shown) == name


@settings(deadline=None)
@given(st.lists(names, min_size=2, max_size=10, unique=True))
def test_two_names_are_never_shown_alike(several: list[str]) -> None:
    assert len({show(name) for name in several}) == len(several)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Grüße.txt", "Grüße.txt"),
        ("a\nb", "a\\x0ab"),
        (os.fsdecode(b"\xff"), "\\xff"),
        ("c:\\dir", "c:\\\\dir"),
        ("gpj.\u202egnp", "gpj.\\xe2\\x80\\xaegnp"),
    ],
)
def test_how_names_are_shown(name: str, shown: str) -> None:
    assert show(name) == shown


@pytest.mark.parametrize("wrong", ["a\\b", "\\x0", "\\xZZ", "tail\\"])
def test_text_that_no_name_is_shown_as_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="backslash"):
        read(wrong)


@settings(deadline=None)
@given(st.text(max_size=80), st.integers(min_value=3, max_value=40))
def test_brief_keeps_both_ends_and_the_limit(text: str, limit: int) -> None:
    short = brief(text, limit)
    assert len(short) <= limit
    assert short == text or (short[0] == text[0] and short[-1] == text[-1] and "…" in short)
