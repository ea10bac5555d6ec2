"""A job that reports twenty times a second while it is asked to."""

from __future__ import annotations

import os
import time
from pathlib import Path

from benchmarks.handlers import FOLDER
from jobsplatform import JobContext, job

EVERY_SECONDS = 0.05


@job("bench.report", queue="storm")
def report(context: JobContext, number: int, silent: bool) -> None:
    """Until the file ``calm`` is there. ``silent``: all of it but the report."""
    calm = Path(os.environ[FOLDER]) / "calm"
    step = 0
    while not calm.exists():
        step += 1
        if not silent:
            context.progress(step, 1_000_000)
        time.sleep(EVERY_SECONDS)
