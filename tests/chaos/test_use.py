"""Wrong use of ./dev chaos and ./dev soak: one line that says what to do, and no figure."""

from __future__ import annotations

from uuid import UUID

import pytest

from chaos import __main__ as command
from chaos import lane, planted, soak
from chaos.errors import CannotRun
from chaos.faults.every import FAULTS
from chaos.planted import BUGS
from chaos.result import Result
from tasks import transitions
from tasks.sql.writes import Completed, Next
from tests.chaos.story import at
from tests.services import ServerError

NAMES = [fault.name for fault in FAULTS]


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave this process's signals and environment as they are."""
    for module in (command, lane, soak):
        monkeypatch.setattr(module, "end_in_good_order", lambda: None)
    monkeypatch.setattr(command, "set_up_alone", lambda: None)


def result(name: str, *problems: str) -> Result:
    return Result(name, "shows", 1, 2, 3.0, [], list(problems))


def test_a_wrong_name_is_told_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--only", "redis-flush"]) == 2
    said = capsys.readouterr()
    assert said.err == (
        "./dev chaos: --only: 'redis-flush' is none of the faults; did you mean 'redis-flushed'?\n"
    )
    assert not said.out


@pytest.mark.parametrize("missing", [ServerError("no PostgreSQL here"), CannotRun("not on this system")])
def test_what_is_missing_is_said_and_nothing_is_counted(
    missing: Exception, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise missing

    for module in (lane, soak):
        monkeypatch.setattr(module, "Servers", refuse)
    assert (lane.main(["--seed", "1", "--factor", "0.2"]), soak.main([])) == (3, 3)
    said = capsys.readouterr()
    assert said.err == f"./dev soak: {missing}\n"
    assert f'{{"missing": "{missing}"}}' in said.out
    assert "hold" not in said.out


def test_a_lane_that_cannot_start_ends_the_run_with_its_reason(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "chaos.lanes.Lanes.command", lambda self: ["/bin/echo", '{"missing": "no Redis here"}']
    )
    assert command.main(["--only", "poison"]) == 3
    said = capfd.readouterr()
    assert said.err == "./dev chaos: no Redis here\n"
    assert "hold" not in said.out


def test_a_lane_that_ends_without_a_word_is_no_result(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaos.lanes.Lanes.command", lambda self: ["/bin/true"])
    assert command.main(["--only", "poison"]) == 3
    said = capfd.readouterr()
    assert "ended before it told of poison" in said.err
    assert "hold" not in said.out


def test_a_broken_promise_is_told_with_how_to_see_it_again(capsys: pytest.CaptureFixture[str]) -> None:
    results = [("poison", result("poison", "it did not end")), ("redis-away", result("redis-away"))]
    assert command._judge(results, "seed 7", 7) == 1
    said = capsys.readouterr()
    assert "1 of 2 hold" in said.out
    assert said.err == "again: ./dev chaos --only poison --seed 7\n"


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_caught_by_its_own_sign_and_missed_without(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bug = BUGS[name]
    order = f"planted:{name}"
    for sign in bug.signs:
        assert command._judge([(order, result(bug.caught_by, f"… {sign} …"))], "", 7) == 0
        assert "1 of 1 caught" in capsys.readouterr().out
    assert command._judge([(order, result(bug.caught_by, "something else"))], "", 7) == 1
    said = capsys.readouterr()
    assert f"MISSED  {name}" in said.out
    assert said.err == f"again: ./dev chaos --planted --only {name} --seed 7\n"


def test_without_a_lease_check_an_end_is_written_under_the_lease_of_the_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[Completed] = []
    monkeypatch.setattr(planted.writes, "complete", lambda runs, *_: lambda: written.extend(runs))
    monkeypatch.setattr(planted.writes, "complete_and_start", lambda run, *_: written.append(run))
    monkeypatch.setattr(planted, "leases_of", lambda ids: dict.fromkeys(ids, 2))
    planted.no_lease_check()
    late = Completed(UUID(int=1), 1, None, None, at(1), at(2))
    transitions.complete_many([late], None, None, "a@here")
    transitions.complete_and_start(late, None, None, "a@here", Next(UUID(int=3), 1, UUID(int=4)), at(2))
    assert [run.lease for run in written] == [2, 2]


@pytest.mark.parametrize("arguments", [["--minutes", "0"], ["--minutes", "-1"], ["--factor", "2"]])
def test_a_soak_of_no_length_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert soak.main(arguments) == 2
    assert arguments[0] in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--jobs", "0"], ["--rounds", "0"]])
def test_a_soak_of_live_pages_without_jobs_or_rounds_is_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert soak.main(["live", *arguments]) == 2
    assert arguments[0] in capsys.readouterr().err


def test_each_planted_bug_names_a_line_of_the_table() -> None:
    assert {bug.caught_by for bug in BUGS.values()} <= set(NAMES)


def test_no_two_faults_have_one_name() -> None:
    assert sorted(NAMES) == sorted(set(NAMES))
