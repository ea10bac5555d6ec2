"""`./dev soak schedules`: a hundred slots a second on real processes, while beats and workers die and Redis is emptied.

It is the test of the suite, for longer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEST = "tests/flows/test_schedules.py::test_every_slot_is_decided_once_while_beats_and_workers_die"
SECONDS, SEED = "JP_STORM_SECONDS", "JP_STORM_SEED"
HELD, BROKEN, WRONG_USE = 0, 1, 2


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 every slot has exactly one decision and one job, 1 not so, 2 wrong use."""
    options = _parser().parse_args(arguments)
    if not 2 <= options.seconds <= 86_400:
        print(f"./dev soak schedules: --seconds: expected 2 to 86400, got {options.seconds}", file=sys.stderr)
        return WRONG_USE
    wishes = {SECONDS: str(options.seconds)}
    if options.seed is not None:
        wishes[SEED] = str(options.seed)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=1", TEST],
        cwd=ROOT,
        env={**os.environ, **wishes},
        check=False,
    )
    print(f"{100 * options.seconds:,} slots: {'each once' if done.returncode == 0 else 'BROKEN'}")
    return HELD if done.returncode == 0 else BROKEN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev soak schedules",
        description="100 schedules of one second on PostgreSQL and Redis, with 3 beats and 2 workers, while at random "
        "one of them is killed or stopped and Redis is flushed or restarted: each slot one decision and one job.",
    )
    parser.add_argument("--seconds", type=int, default=120, help="how long (default: 120)")
    parser.add_argument("--seed", type=int, help="of what is chosen at random (default: a new one)")
    return parser
