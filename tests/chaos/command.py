"""`./dev chaos` running, its output in a file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.services.guard import Guard

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 1200.0
"""It ends by itself, and each wait in it does; this is only for one that hangs."""


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

    @property
    def tables(self) -> str:
        """What comes after the words on each fault as it goes; all there is when it did not come so far."""
        head, sign, tables = self.output.rpartition("\n\nseed ")
        return f"{sign}{tables}" if sign else head or self.output

    def exit_code(self) -> int:
        """Once it has ended."""
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
