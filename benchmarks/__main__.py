"""`./dev bench jobs`, `schedules` and `live`: measure, and print a table or JSON. Progress goes to standard error."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from types import FrameType

from benchmarks.bench import Bench
from benchmarks.machine import describe
from benchmarks.report import NoPlace, check, report, write
from benchmarks.results import Row
from benchmarks.scenarios.base import Scenario
from benchmarks.sizes import FULL, QUICK
from benchmarks.stage import Stage
from benchmarks.suites import SUITES, Suite
from benchmarks.table import missing
from tests.services import ServerError

DONE, INCOMPLETE, WRONG_USE, UNREACHABLE = 0, 1, 2, 3
ROUNDS = 3
QUICK_NOTE = "--quick: far too few jobs for figures to mean anything; it shows that everything works"


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 done, 1 a figure is missing, 2 wrong use, 3 a server did not start."""
    options = _parser().parse_args(arguments)
    suite = SUITES[options.what]
    scenarios = suite.scenarios(quick=options.quick)
    names = [scenario.name for scenario in scenarios]
    wanted = options.only or names
    wrong = next((name for name in wanted if name not in names), None)
    if wrong is not None:
        return _refuse(f"--only: {wrong!r} is none of the scenarios{_nearest(wrong, names)}")
    rounds = options.rounds if options.rounds is not None else (1 if options.quick else ROUNDS)
    if rounds < 1:
        return _refuse(f"--rounds: expected 1 or more, got {rounds}")
    if options.markdown is not None:
        if options.quick:
            return _refuse("--markdown: not with --quick, whose figures mean nothing")
        try:
            check(options.markdown, suite.name)
        except NoPlace as problem:
            return _refuse(f"--markdown: {problem}")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    chosen = [scenario for scenario in scenarios if scenario.name in wanted]
    try:
        facts, rows = _measure(suite, chosen, rounds, quick=options.quick)
    except ServerError as error:
        print(error, file=sys.stderr)
        return UNREACHABLE
    _show(facts, rows, options.markdown, suite.name, as_json=options.json)
    return DONE if all(row.is_complete for row in rows) else INCOMPLETE


def _measure(
    suite: Suite, chosen: list[Scenario], rounds: int, *, quick: bool
) -> tuple[list[str], list[Row]]:
    with Stage() as stage:
        prepared = suite.prepare(stage)
        systems = (system for scenario in chosen for system in scenario.systems)
        facts = [*describe(stage, systems, rounds, suite.packages), *prepared]
        if quick:
            facts.insert(0, QUICK_NOTE)
        _say("\n".join(f"- {fact}" for fact in facts) + "\n")
        return facts, _run(Bench(stage, QUICK if quick else FULL, rounds, _say), chosen)


def _run(bench: Bench, chosen: list[Scenario]) -> list[Row]:
    rows: list[Row] = []
    for scenario in chosen:
        began = time.monotonic()
        rows += scenario.run(bench)
        _say(f"{scenario.name}: {time.monotonic() - began:.0f} s in all")
    return rows


def _show(facts: list[str], rows: list[Row], document: Path | None, what: str, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([row.as_json() for row in rows], indent=2, ensure_ascii=False))
        for line in missing(rows):
            _say(f"not measured: {line}")
    else:
        print(report(facts, rows))
    if document is not None:
        write(document, report(facts, rows), what)


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(
        f"scenarios of {suite.name}:\n"
        + "".join(f"  {scenario.name:9} {scenario.about}\n" for scenario in suite.scenarios(quick=False))
        for suite in SUITES.values()
    )
    parser = argparse.ArgumentParser(
        prog="./dev bench",
        description="Measure speed beside others, in turn, on one PostgreSQL and one Valkey of its own.",
        epilog=listed,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=list(SUITES), help="what to measure")
    parser.add_argument("--json", action="store_true", help="print the rows as a JSON list")
    parser.add_argument(
        "--markdown",
        type=Path,
        metavar="FILE",
        help="write the result into this document too, between its two marks",
    )
    parser.add_argument(
        "--quick", action="store_true", help="tiny sizes and one round: does everything work?"
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="this scenario only; may be repeated")
    parser.add_argument("--rounds", type=int, help=f"rounds of each (default: {ROUNDS}; quick: 1)")
    return parser


def _refuse(problem: str) -> int:
    print(f"./dev bench: {problem}", file=sys.stderr)
    return WRONG_USE


def _nearest(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; they are {', '.join(names)}"


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _end(number: int, frame: FrameType | None) -> None:
    """Leave by way of every ``with`` that is open."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
