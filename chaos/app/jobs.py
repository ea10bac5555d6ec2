"""Jobs of every kind that the platform must keep its word to. Each writes into the ledger what it does."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chaos import ledger
from jobsplatform import Child, JobContext, job
from tasks.outcomes import JobCancelled, LeaseLost

STEP_SECONDS = 0.02


def note(context: JobContext, what: str, about: object = "-") -> None:
    ledger.append(what, context.id, context.lease, context.attempt, about)


@contextmanager
def ran(context: JobContext) -> Iterator[None]:
    """Start and end of a run, as they really were."""
    note(context, "start", time.time())
    try:
        yield
    except (JobCancelled, LeaseLost):
        note(context, "left")
        raise
    except Exception:
        note(context, "fail")
        raise
    note(context, "end")


def work(context: JobContext, seconds: float) -> None:
    """Work in small steps, and look at each whether to go on."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        context.check_cancel()
        time.sleep(STEP_SECONDS)
        note(context, "tick")


@job("chaos.plain")
def plain(context: JobContext, seconds: float) -> None:
    """Deaf to any wish to stop."""
    with ran(context):
        time.sleep(seconds)


@job("chaos.polite")
def polite(context: JobContext, seconds: float) -> None:
    """Stops when asked."""
    with ran(context):
        work(context, seconds)


@job("chaos.retrying", max_attempts=3)
def retrying(context: JobContext, seconds: float, fails: int) -> None:
    """Raises in its first ``fails`` attempts."""
    with ran(context):
        time.sleep(seconds)
        if context.attempt <= fails:
            raise RuntimeError(f"attempt {context.attempt} fails")


@job("chaos.exclusive", exclusive=True)
def exclusive(context: JobContext, seconds: float) -> None:
    """One at a time."""
    with ran(context):
        work(context, seconds)


@job("chaos.keyed", concurrency_key="{key}")
def keyed(context: JobContext, key: str, seconds: float) -> None:
    """One at a time of each key."""
    with ran(context):
        work(context, seconds)


@job("chaos.parent")
def parent(context: JobContext, children: int, seconds: float) -> None:
    """Spawns children; ends when they have ended."""
    note(context, "start", time.time())
    keys = [f"child-{n}" for n in range(children)]
    try:
        context.spawn([Child(plain, {"seconds": seconds}, key) for key in keys])
    except (JobCancelled, LeaseLost):
        note(context, "left")
        raise
    except Exception:  # the database is away
        note(context, "fail")
        raise
    note(context, "spawned")


@parent.continuation
def gather(context: JobContext) -> int:
    with ran(context):
        note(context, "gather")
        return len(context.children)


@job("chaos.steps")
def steps(context: JobContext, count: int, seconds: float) -> None:
    """Goes on from its checkpoint; each step is noted when it is done, and again when it is saved."""
    with ran(context):
        for number in range((context.cursor or 0) + 1, count + 1):
            work(context, seconds)
            note(context, "step", number)
            context.checkpoint(number)
            note(context, "saved", number)


@job("chaos.packed")
def packed(context: JobContext, seconds: float = 0.0) -> None:
    """So short that it travels in packs."""
    with ran(context):
        if seconds:
            time.sleep(seconds)


@job("chaos.gate")
def gate(context: JobContext, go: str) -> None:
    """Works until a file appears; stops when asked."""
    with ran(context):
        while not Path(go).exists():
            context.check_cancel()
            time.sleep(STEP_SECONDS)


@job("chaos.deaf")
def deaf(context: JobContext, go: str, seconds: float) -> None:
    """Deaf to any wish to stop. Its first run works until its own file in the folder appears, each later so long."""
    with ran(context):
        gate = Path(go) / str(context.id)
        if _is_first(f"{gate}.first"):
            while not gate.exists():
                time.sleep(STEP_SECONDS)
        else:
            time.sleep(seconds)


def _is_first(mark: str) -> bool:
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


@job("chaos.poison")
def poison(context: JobContext) -> None:
    """Kills its process, always."""
    note(context, "start")
    os.kill(os.getpid(), signal.SIGKILL)


@job("chaos.packed_poison")
def packed_poison(context: JobContext, deadly: bool = False) -> None:
    """Short; some of them kill their process."""
    note(context, "start")
    if deadly:
        os.kill(os.getpid(), signal.SIGKILL)
    note(context, "end")
