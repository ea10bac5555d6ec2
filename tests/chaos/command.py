"""`./dev chaos` running, its output read line by line while it goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from jobsplatform.kernel.loop import wait_until
from tests.services.guard import Guard

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 280.0
"""Every wait here ends by its condition; this is how long a broken one may take to be told."""


class Chaos:
    """One run; it ends with ``close``."""

    def __init__(self, log: Path, arguments: Sequence[str]) -> None:
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "chaos", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(os.environ),
                cwd=ROOT,
            )
        self._guard = Guard(self._process.pid, log.with_suffix(".none"))

    @property
    def output(self) -> str:
        return self._log.read_text(errors="replace")

    def about(self, name: str, *signs: str) -> str:
        """What it says of one fault: the line that begins with one of ``signs``, and those that belong to it.

        Raises TimeoutError, and AssertionError when the run ends without a word on it.
        """

        def told() -> list[str]:
            ended = self._process.poll() is not None
            lines = self.output.splitlines()
            for number, line in enumerate(lines):
                # What follows tells that its own lines are complete.
                if line.startswith(tuple(f"{sign}{name}" for sign in signs)) and (
                    number + 1 < len(lines) or ended
                ):
                    more = [line for line in lines[number + 1 :]]
                    own = next((n for n, one in enumerate(more) if not one.startswith("        ")), len(more))
                    return [line, *more[:own]]
            assert not ended, self.output[-3000:]
            return []

        return "\n".join(wait_until(told, PATIENCE, every=0.2))

    def exit_code(self) -> int:
        return self._process.wait(PATIENCE)

    def close(self) -> None:
        """End it, in good order if it still runs."""
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._guard.release()
