"""Wrong use of ./dev chaos and ./dev soak: one line that says what to do, and no figure."""

from __future__ import annotations

import pytest

from chaos import __main__ as command
from chaos import soak
from chaos.errors import CannotRun
from chaos.faults.every import FAULTS
from chaos.planted import BUGS
from tests.services import ServerError


def test_a_wrong_name_is_told_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    names = [fault.name for fault in FAULTS]
    assert command._refuse(["redis-flush"], names, "faults") == 2
    assert "did you mean 'redis-flushed'?" in capsys.readouterr().err
    assert command._refuse(["redis-flushed"], names, "faults") is None


@pytest.mark.parametrize("missing", [ServerError("no PostgreSQL here"), CannotRun("not on this system")])
def test_what_is_missing_is_said_and_nothing_is_counted(
    missing: Exception, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise missing

    for module in (command, soak):
        monkeypatch.setattr(module, "Servers", refuse)
        monkeypatch.setattr(module, "end_in_good_order", lambda: None)
    assert (command.main([]), soak.main([])) == (3, 3)
    said = capsys.readouterr()
    assert said.err == f"./dev chaos: {missing}\n./dev soak: {missing}\n"
    assert "hold" not in said.out


@pytest.mark.parametrize("arguments", [["--minutes", "0"], ["--minutes", "-1"], ["--factor", "2"]])
def test_a_soak_of_no_length_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert soak.main(arguments) == 2
    assert arguments[0] in capsys.readouterr().err


def test_each_planted_bug_names_a_line_of_the_table() -> None:
    assert {bug.caught_by for bug in BUGS.values()} <= {fault.name for fault in FAULTS}


def test_no_two_faults_have_one_name() -> None:
    names = [fault.name for fault in FAULTS]
    assert sorted(names) == sorted(set(names))
