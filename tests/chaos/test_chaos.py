"""Every fault strikes, every promise holds, and every planted bug is caught: one run for all, two platforms side by
side; each test waits for its own line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chaos.faults.every import FAULTS
from chaos.planted import BUGS
from tests.chaos.command import Chaos

pytestmark = pytest.mark.flow
NAMES = [fault.name for fault in FAULTS]


@pytest.fixture(scope="module")
def chaos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chaos]:
    running = Chaos(tmp_path_factory.mktemp("chaos") / "log", ["--all"])
    yield running
    running.close()


@pytest.fixture(scope="module")
def tables(chaos: Chaos) -> str:
    """What it prints at its end."""
    chaos.exit_code()
    return chaos.tables


@pytest.mark.parametrize("name", NAMES)
def test_the_platform_keeps_its_word(tables: str, chaos: Chaos, name: str) -> None:
    assert f"\nholds   {name} " in tables, f"{chaos.output.splitlines()[0]}\n{told_of(name, tables)}"


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_caught(tables: str, chaos: Chaos, name: str) -> None:
    assert f"\ncaught  {name} " in tables, f"{chaos.output.splitlines()[0]}\n{told_of(name, tables)}"


def test_the_exit_code_says_that_all_hold_and_all_are_caught(tables: str, chaos: Chaos) -> None:
    assert chaos.exit_code() == 0, tables
    assert f"\n{len(NAMES)} of {len(NAMES)} hold\n" in tables
    assert f"\n{len(BUGS)} of {len(BUGS)} caught\n" in tables


def told_of(name: str, tables: str) -> str:
    """The line of one fault, and those that belong to it."""
    lines = tables.splitlines()
    at = next((n for n, line in enumerate(lines) if line[8:].startswith(f"{name} ")), None)
    if at is None:
        return tables[-3000:]
    after = [n for n in range(at + 1, len(lines)) if not lines[n].startswith("        ")]
    return "\n".join(lines[at : after[0] if after else None])
