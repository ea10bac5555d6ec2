"""Looking at real processes and waiting for what they do."""

import time
from collections.abc import Callable
from pathlib import Path

import psutil

PATIENCE_SECONDS = 30.0


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Return as soon as `holds()`; fail, naming `what`, when it does not for 30 seconds."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"not within {PATIENCE_SECONDS:.0f} s: {what}")
        time.sleep(0.02)


def processes_in(folder: Path) -> list[str]:
    """Command lines of living processes that work in `folder` or name it."""
    found = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            inside = str(folder) in " ".join(words) or Path(process.cwd()).is_relative_to(folder)
            if inside and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(words))
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found
