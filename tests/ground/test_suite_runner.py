"""./dev test: every part runs, on its database, and no failure is lost."""

import sys
from pathlib import Path

import pytest

from tests.services import plugin
from tests.suite import Run, run_all, whole_suite

ROOT = Path(__file__).resolve().parents[2]

# Stands for pytest: prints its database and a summary, and ends with the code that its last word says.
FAKE = [
    sys.executable,
    "-c",
    "import os, sys; print('on', os.environ['JP_TEST_DATABASE']); print('== 3 passed in 0.1s =='); "
    "sys.exit(int(sys.argv[-1]))",
]


def test_every_layer_runs_and_the_database_layer_on_both() -> None:
    planned = {(path, run.database) for run in whole_suite() for path in run.paths}
    layers = {f"tests/{path.parent.name}" for path in ROOT.glob("tests/*/__init__.py")} - {"tests/services"}
    assert {path for path, _ in planned} == layers
    assert {database for path, database in planned if path == "tests/database"} == {"sqlite", "postgres"}


def test_all_passed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_all([Run("one", ("0",), "sqlite"), Run("two", ("0",), "postgres")], FAKE) == 0
    printed = capsys.readouterr().out
    assert "on sqlite" in printed
    assert "on postgres" in printed
    assert "passed  one: 3 passed in 0.1s" in printed


def test_one_that_must_be_alone_starts_when_all_others_have_ended(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs = [
        Run("alone", ("0",), "sqlite", alone=True),
        Run("one", ("0",), "sqlite"),
        Run("two", ("0",), "sqlite"),
    ]
    assert run_all(runs, FAKE) == 0
    printed = capsys.readouterr().out
    assert all(
        printed.index(f"===== {name} =====") < printed.index("started: alone") for name in ("one", "two")
    )


@pytest.mark.parametrize("code", ["1", "2", "3", "4", "5"])
def test_a_run_that_fails_or_runs_no_test_fails_the_whole(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [Run("good", ("0",), "sqlite"), Run("bad", (code,), "sqlite"), Run("last", ("0",), "sqlite")]
    assert run_all(runs, FAKE) == 1
    printed = capsys.readouterr().out
    assert "FAILED  bad" in printed
    assert "passed  last" in printed


def test_a_run_that_cannot_start_fails_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_all([Run("one", ("0",), "sqlite")], ["/no/such/program"]) == 1
    assert "FAILED  one: cannot start" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wanted", "url", "real", "expected"),
    [
        ("", "", False, "sqlite"),
        ("", "", True, "postgres"),
        ("sqlite", "", True, "sqlite"),
        ("postgres", "", False, "postgres"),
        ("", "postgresql://somewhere/x", False, "postgres"),
        ("", "postgres://somewhere/x", False, "postgres"),
        ("", "sqlite:////tmp/x", True, "sqlite"),
        ("sqlite", "postgresql://somewhere/x", False, "sqlite"),
    ],
)
def test_the_database_of_a_run(
    monkeypatch: pytest.MonkeyPatch, wanted: str, url: str, real: bool, expected: str
) -> None:
    monkeypatch.setenv("JP_TEST_DATABASE", wanted)
    monkeypatch.setenv("DATABASE_URL", url)
    assert plugin.chosen_database(real=real) == expected


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("JP_TEST_DATABASE", "postgers", "JP_TEST_DATABASE is 'postgers'; expected one of: sqlite, postgres"),
        ("DATABASE_URL", "mysql://x/y", "DATABASE_URL must start with sqlite: or postgresql:"),
    ],
)
def test_a_wrong_choice_is_told(monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str) -> None:
    for variable in ("JP_TEST_DATABASE", "DATABASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv(name, value)
    with pytest.raises(pytest.UsageError, match=message):
        plugin.chosen_database(real=False)


@pytest.mark.parametrize(
    ("chosen", "real"),
    [
        ([], True),
        (["tests"], True),
        (["tests/flows"], True),
        (["tests/flows/test_x.py::test_y"], True),
        (["tests/pure", "tests/browser"], True),
        (["tests/pure"], False),
        (["tests/database/test_x.py::test_y"], False),
    ],
)
def test_real_servers_come_with_the_layers_that_need_them(
    monkeypatch: pytest.MonkeyPatch, chosen: list[str], real: bool
) -> None:
    monkeypatch.chdir(ROOT)
    assert plugin.chooses_real_layers(chosen) is real
