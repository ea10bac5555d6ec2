"""Bugs that are planted in the workers are caught; a table that is always green would show nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chaos.planted import BUGS
from tests.chaos.command import Chaos

pytestmark = pytest.mark.flow


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chaos]:
    running = Chaos(tmp_path_factory.mktemp("planted") / "log", ["--planted"])
    yield running
    running.close()


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_caught(planted: Chaos, name: str) -> None:
    line = planted.about(f"{name} |", "| ")
    assert "not caught" not in line
    assert BUGS[name].sign in line


def test_all_are_caught(planted: Chaos) -> None:
    assert planted.exit_code() == 0
    assert planted.output.rstrip().endswith(f"{len(BUGS)} of {len(BUGS)} caught")
