"""What a job does, the same for every system: one write to an append-only file, so that runs can be counted
by what really ran. Needs nothing but the standard library."""

from __future__ import annotations

import os
import time
from pathlib import Path

FOLDER = "BENCH_FOLDER"
"""Environment variable with the folder of the files ``ran`` and ``stamps``."""

SHORT_SECONDS = 0.005
BUSY_SECONDS = 0.2

_open: dict[str, int] = {}


def append(name: str, text: bytes) -> None:
    """Add to a file at its end, in one system call that no other process can split."""
    descriptor = _open.get(name)
    if descriptor is None:
        path = Path(os.environ[FOLDER]) / name
        descriptor = _open[name] = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(descriptor, text)


def noop(number: int) -> None:
    """Nothing, counted."""
    append("ran", b".")


def short(number: int) -> None:
    """Five milliseconds in which the slot is taken and no CPU is used."""
    time.sleep(SHORT_SECONDS)
    append("ran", b".")


def busy(number: int) -> None:
    """Keeps a slot taken."""
    append("ran", b".")
    time.sleep(BUSY_SECONDS)


def stamp(number: int) -> None:
    """Notes when it started, by the clock that all processes of a machine share."""
    append("stamps", b"%d %d\n" % (number, time.monotonic_ns()))
