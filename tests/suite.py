"""`./dev test`: the whole suite, its runs two at a time, then those that need the machine for themselves; with
arguments, one plain pytest run.

The database tests run twice, on SQLite and on PostgreSQL. Every run has servers of its own, so that one which
kills its server disturbs no other.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.services.guard import Guard

PYTEST = [sys.executable, "-m", "pytest"]
SIDE_BY_SIDE = 2
_SAY_EVERY_SECONDS = 30.0


@dataclass
class Run:
    """One pytest process: which part of the suite, on which database. ``alone``: beside no other."""

    name: str
    paths: tuple[str, ...]
    database: str
    alone: bool = False
    exit_code: int | None = None
    seconds: float = 0.0
    output: str = ""
    process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    @property
    def passed(self) -> bool:
        """Whether tests ran and none failed (pytest ends with 5 when there was none to run)."""
        return self.exit_code == 0

    @property
    def summary(self) -> str:
        """pytest's own last line, without its ornaments."""
        if self.process is None:
            return self.output or "not run"
        lines = [line.strip("= ") for line in self.output.splitlines() if re.search(r" in [\d.]+s", line)]
        return lines[-1] if lines else "no summary; the output above says why"


def whole_suite() -> list[Run]:
    """The runs, the longest first.

    Under fire is alone: it measures what a fault does to a platform, not what a machine does that has too much to do.
    """
    return [
        Run("flows and browser", ("tests/flows", "tests/browser"), "postgres"),
        Run("database on PostgreSQL", ("tests/database",), "postgres"),
        Run("database on SQLite", ("tests/database",), "sqlite"),
        Run("pure and ground", ("tests/pure", "tests/ground"), "sqlite"),
        Run("under fire", ("tests/chaos",), "sqlite", alone=True),
    ]


def run_all(runs: Sequence[Run], command: Sequence[str] = PYTEST) -> int:
    """Run them side by side, then those that must be alone; print each one's output when it ends, then a summary; 0
    when all passed."""
    waiting: list[Run] = []
    lock = threading.Lock()

    def lane(folder: Path) -> None:
        while True:
            with lock:
                if not waiting:
                    return
                run = waiting.pop(0)
                print(f"started: {run.name}", flush=True)
            _execute(run, command, folder)
            with lock:
                print(f"\n===== {run.name} =====\n{run.output}", flush=True)

    with tempfile.TemporaryDirectory(prefix="jp-suite-", ignore_cleanup_errors=True) as folder:
        for alone, count in ((False, SIDE_BY_SIDE), (True, 1)):
            waiting += [run for run in runs if run.alone is alone]
            lanes = [threading.Thread(target=lane, args=(Path(folder),)) for _ in range(count)]
            for thread in lanes:
                thread.start()
            try:
                _wait(lanes, runs)
            except KeyboardInterrupt:
                waiting.clear()
                for thread in lanes:
                    thread.join()
                return 130
    print("\n===== the whole suite =====")
    for run in runs:
        print(f"{'passed' if run.passed else 'FAILED'}  {run.name}: {run.summary}")
    return 0 if all(run.passed for run in runs) else 1


def _wait(lanes: Sequence[threading.Thread], runs: Sequence[Run]) -> None:
    started = time.monotonic()
    while any(thread.is_alive() for thread in lanes):
        for thread in lanes:
            thread.join(_SAY_EVERY_SECONDS / len(lanes))
        going = [run.name for run in runs if run.process is not None and run.exit_code is None]
        if going:
            print(f"{time.monotonic() - started:.0f} s, running: {', '.join(going)}", flush=True)


def _execute(run: Run, command: Sequence[str], folder: Path) -> None:
    started = time.monotonic()
    log = folder / f"{run.name.replace(' ', '-')}.log"
    with log.open("wb") as output:
        try:
            run.process = subprocess.Popen(
                # Two runs writing one cache folder would each hold the other's failures.
                [*command, "-p", "no:cacheprovider", "--durations=5", *run.paths],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "JP_TEST_DATABASE": run.database},
            )
        except OSError as error:
            run.output = f"cannot start: {error}"
            return
        guard = Guard(run.process.pid, folder)
        run.exit_code = run.process.wait()
        guard.release()
    run.seconds = time.monotonic() - started
    run.output = log.read_text(errors="replace")


def main(arguments: list[str]) -> int:
    """The exit code of `./dev test`."""
    if arguments:
        os.execv(sys.executable, [*PYTEST, *arguments])
    return run_all(whole_suite())


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
