"""`./dev bench jobs`: measure, and print a table or JSON. What it is doing meanwhile goes to standard error."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from types import FrameType

from benchmarks.bench import Bench
from benchmarks.machine import describe
from benchmarks.results import Row
from benchmarks.scenarios import cancel, claim, drain, enqueue, local, memory, short_jobs, start, urgent
from benchmarks.scenarios.base import Scenario
from benchmarks.sizes import FULL, QUICK
from benchmarks.stage import Stage
from benchmarks.table import table
from tests.services import ServerError

SCENARIOS: tuple[Scenario, ...] = tuple(
    module.SCENARIO for module in (drain, short_jobs, enqueue, start, urgent, cancel, claim, memory, local)
)
DONE, INCOMPLETE, WRONG_USE, UNREACHABLE = 0, 1, 2, 3
ROUNDS = 3


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 done, 1 a figure of ours is missing, 2 wrong use, 3 a server did not start."""
    options = _parser().parse_args(arguments)
    wanted = options.only or [scenario.name for scenario in SCENARIOS]
    wrong = next((name for name in wanted if name not in {scenario.name for scenario in SCENARIOS}), None)
    if wrong is not None:
        return _refuse(f"--only: {wrong!r} is none of the scenarios{_nearest(wrong)}")
    rounds = options.rounds if options.rounds is not None else (1 if options.quick else ROUNDS)
    if rounds < 1:
        return _refuse(f"--rounds: expected 1 or more, got {rounds}")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    chosen = [scenario for scenario in SCENARIOS if scenario.name in wanted]
    try:
        with Stage() as stage:
            rows = _run(stage, chosen, rounds, quick=options.quick, as_json=options.json)
    except ServerError as error:
        print(error, file=sys.stderr)
        return UNREACHABLE
    return INCOMPLETE if any(row.our_figure is None for row in rows) else DONE


def _run(stage: Stage, chosen: list[Scenario], rounds: int, *, quick: bool, as_json: bool) -> list[Row]:
    facts = describe(stage, (system for scenario in chosen for system in scenario.systems), rounds)
    if quick:
        facts.insert(
            0, "--quick: far too few jobs for figures to mean anything; it shows that everything works"
        )
    print(
        "\n".join(f"- {fact}" for fact in facts) + "\n",
        file=sys.stderr if as_json else sys.stdout,
        flush=True,
    )
    bench = Bench(stage, QUICK if quick else FULL, rounds, _say)
    rows = [row for scenario in chosen for row in scenario.run(bench)]
    print(
        json.dumps([row.as_json() for row in rows], indent=2, ensure_ascii=False) if as_json else table(rows)
    )
    return rows


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {scenario.name:9} {scenario.about}" for scenario in SCENARIOS)
    parser = argparse.ArgumentParser(
        prog="./dev bench",
        description="Measure speed beside others, in turn, on one PostgreSQL and one Valkey of its own.",
        epilog=f"scenarios:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=["jobs"], help="what to measure")
    parser.add_argument("--json", action="store_true", help="print the rows as a JSON list")
    parser.add_argument(
        "--quick", action="store_true", help="tiny sizes and one round: does everything work?"
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="this scenario only; may be repeated")
    parser.add_argument("--rounds", type=int, help=f"rounds of each (default: {ROUNDS}; quick: 1)")
    return parser


def _refuse(problem: str) -> int:
    print(f"./dev bench: {problem}", file=sys.stderr)
    return WRONG_USE


def _nearest(name: str) -> str:
    names = [scenario.name for scenario in SCENARIOS]
    near = get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; they are {', '.join(names)}"


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _end(number: int, frame: FrameType | None) -> None:
    """Leave by way of every ``with`` that is open."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
