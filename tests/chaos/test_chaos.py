"""Every fault strikes, and every promise holds. One run for all; each test waits for its own line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chaos.faults.every import FAULTS
from tests.chaos.command import Chaos

pytestmark = pytest.mark.flow
NAMES = [fault.name for fault in FAULTS]


@pytest.fixture(scope="module")
def chaos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chaos]:
    running = Chaos(tmp_path_factory.mktemp("chaos") / "log", [])
    yield running
    running.close()


@pytest.mark.parametrize("name", NAMES)
def test_the_platform_keeps_its_word(chaos: Chaos, name: str) -> None:
    told = chaos.about(f"{name}:", "holds   ", "BROKEN  ")
    assert told.startswith("holds "), f"{chaos.output.splitlines()[0]}\n{told}"


def test_the_table_has_a_line_for_each_and_the_exit_code_says_that_all_hold(chaos: Chaos) -> None:
    assert chaos.exit_code() == 0
    for name in NAMES:
        assert f"| {name} |" in chaos.output
    assert chaos.output.rstrip().endswith(f"{len(NAMES)} of {len(NAMES)} hold")
