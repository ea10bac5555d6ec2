"""The only place of this package that reads a clock or waits."""

from __future__ import annotations

import asyncio
import time


def monotonic() -> float:
    """Seconds of a clock that never goes back."""
    return time.monotonic()


def unix() -> float:
    """Seconds since 1970, by this machine's clock: for timestamps of signed calls alone."""
    return time.time()


def sleep(seconds: float) -> None:
    """Wait, in this thread."""
    time.sleep(seconds)


async def asleep(seconds: float) -> None:
    """Wait, in this task."""
    await asyncio.sleep(seconds)
