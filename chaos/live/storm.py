"""`./dev soak live`: five hundred jobs that report all the time, a hundred pages, and everything that may break.

It is the test of the suite, with more jobs and again and again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from chaos.live import JOBS, ROUNDS, WITHIN
from tests.services.postgres import CONNECTIONS

ROOT = Path(__file__).resolve().parents[2]
TEST = "tests/flows/test_live.py"
HELD, BROKEN, WRONG_USE = 0, 1, 2
COUNT, LIMIT = 500, 2.0
OTHER_CONNECTIONS = 100
"""Besides one for the thread of each run: web processes, the test, the worker's own."""


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 every page was right in time, whatever broke; 1 not so, 2 wrong use."""
    options = _parser().parse_args(arguments)
    if not 1 <= options.jobs <= 5000 or not 1 <= options.rounds <= 10_000:
        print("./dev soak live: --jobs: 1 to 5000, --rounds: 1 to 10000", file=sys.stderr)
        return WRONG_USE
    wishes = {JOBS: str(options.jobs), ROUNDS: str(options.rounds), WITHIN: str(options.within)}
    wishes[CONNECTIONS] = str(options.jobs + OTHER_CONNECTIONS)
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "--durations=1", TEST],
        cwd=ROOT,
        env={**os.environ, **wishes},
        check=False,
    )
    told = "every page was right in time" if done.returncode == 0 else "BROKEN"
    print(f"{options.jobs} jobs, {options.rounds} rounds, {time.monotonic() - began:.0f} s: {told}")
    return HELD if done.returncode == 0 else BROKEN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev soak live",
        description="Jobs that each report 20 times a second, 100 pages on two web processes, two with a tenth of "
        "their frames lost and one that never reads, while Redis, a web process and a worker are struck: after each "
        "every page shows what the rows say.",
    )
    parser.add_argument("--jobs", type=int, default=COUNT, help=f"that report (default: {COUNT})")
    parser.add_argument("--rounds", type=int, default=5, help="of all that may break (default: 5)")
    parser.add_argument(
        "--within", type=float, default=LIMIT, help=f"seconds until every page is right (default: {LIMIT:g})"
    )
    return parser
