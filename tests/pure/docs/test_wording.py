"""The documentation speaks of the project alone."""

import re

import pytest

from tests.pure.docs.pages import PAGES

MACHINE = re.compile(r"(?<![\w/])/(?:work|home|root|Users|mnt|private)/|[A-Z]:\\\\|\blocalhost:\d{5}\b")
INTERNAL = re.compile(
    r"\b(?:SPEC|ARCHITECTURE|FINDINGS|CONTRACT|RULES)(?:\.md)?\b|\b(?:TODO|FIXME|XXX|TBD)\b"
    r"|\bissue #?\d+|\bcoming soon\b"
)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_page_shows_a_machine_or_unfinished_work(path):
    found = [*MACHINE.findall(path.read_text()), *INTERNAL.findall(path.read_text())]
    assert found == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_page_has_one_title_and_ends_with_a_line(path):
    text = path.read_text()
    assert re.match(r"# \S", text)
    assert text.endswith("\n") and not text.endswith("\n\n")
