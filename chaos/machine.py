"""When, where and on what something was measured."""

from __future__ import annotations

import os
import platform as machines
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import psutil


def describe(root: Path) -> str:
    """In one line. ``root``: of the checkout whose revision is named."""
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC; JobsPlatform {_revision(root)}; {psutil.cpu_count()} cores, "
        f"{psutil.virtual_memory().total / 2**30:.0f} GiB, {machines.system()} {machines.machine()}, "
        f"Python {machines.python_version()}; load before: {os.getloadavg()[0]:.2f}"
    )


def _revision(root: Path) -> str:
    command = ["git", "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return "of unknown revision"
    return done.stdout.strip() or "of unknown revision"
