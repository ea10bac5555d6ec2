"""Jobs for tests on real processes. Each start leaves a line in a file, so that starts can be counted."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from django.db import DatabaseError, connection, transaction

from jobsplatform import JobContext, Retry, job
from jobsplatform.kernel import events
from tasks.events import JobMoved


class Unpicklable(Exception):
    """Its constructor wants what pickle does not give."""

    def __init__(self, *, code: int) -> None:
        super().__init__(f"code {code}")
        self.code = code


def note(path: str, what: str = "start") -> None:
    """One line: what happened, in which process."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"{what} {os.getpid()}\n")


@job("flow.add")
def add(a: int, b: int) -> int:
    return a + b


@job("flow.work")
def work(path: str, seconds: float = 0.0) -> str:
    note(path)
    time.sleep(seconds)
    note(path, "end")
    return "done"


@job("flow.brief", queue="brief")
def brief(context: JobContext, path: str, dies: bool = False) -> None:
    """Short. ``dies``: kills its process at the first attempt."""
    note(path)
    if dies and context.lease == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    note(path, "end")


@job("flow.timed", queue="brief", timeout=30)
def timed(context: JobContext, path: str, dies: bool = False) -> None:
    """The same with a time limit."""
    brief.run(context)


@job("flow.until")
def until(path: str, go: str) -> str:
    """Works until the file ``go`` appears; deaf to cancels."""
    note(path)
    while not Path(go).exists():
        time.sleep(0.02)
    note(path, "end")
    return "done"


@job("flow.polite")
def polite(context: JobContext, path: str) -> None:
    """Works for ever, saves where it is, stops when asked."""
    note(path)
    step = context.cursor or 0
    while True:
        step += 1
        context.checkpoint(step)
        context.check_cancel()
        time.sleep(0.05)


@job("flow.deaf", cancel_grace=0.5)
def deaf(path: str) -> None:
    note(path)
    while True:
        try:
            time.sleep(0.05)
        except Exception:
            note(path, "swallowed")


@job("flow.suicide")
def suicide(path: str) -> None:
    note(path)
    os.kill(os.getpid(), signal.SIGKILL)


@job("flow.soft", soft_timeout=0.5, timeout=30, max_attempts=1)
def soft(path: str) -> None:
    note(path)
    time.sleep(20)
    note(path, "end")


@job("flow.swallow", soft_timeout=0.5, timeout=1.2, max_attempts=1)
def swallow(context: JobContext, path: str) -> None:
    note(path)
    for step in range(10_000):
        try:
            context.progress(step)
            time.sleep(0.05)
        except Exception:
            note(path, "swallowed")


@job("flow.limited", timeout=1.5, max_attempts=1)
def limited(path: str) -> str:
    note(path)
    time.sleep(0.2)
    return "in time"


@job("flow.memory", max_attempts=1)
def memory() -> None:
    raise MemoryError("no more")


@job("flow.exit", max_attempts=1)
def leave() -> None:
    raise SystemExit(3)


@job("flow.unpicklable", max_attempts=2)
def unpicklable(context: JobContext) -> str:
    if context.attempt == 1:
        try:
            raise Unpicklable(code=7)
        except Unpicklable as error:
            raise Retry(after=0.01, reason=f"asked by {error}") from error
    raise Unpicklable(code=8)


@job("flow.breaks_transaction", max_attempts=1)
def breaks_transaction() -> str:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            try:
                cursor.execute("SELECT * FROM there_is_no_such_table")
            except DatabaseError:
                pass  # what careless code does: the transaction is broken now
            return "swallowed"
    except DatabaseError:
        return "noticed"


@job("flow.leaves_transaction", max_attempts=1)
def leaves_transaction() -> str:
    transaction.atomic().__enter__()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM there_is_no_such_table")
    except DatabaseError:
        pass
    return "left open"


@job("flow.holds")
def holds(seconds: float) -> str:
    """Keeps a write transaction open: on SQLite nobody else can write."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE kernel_process SET info = info WHERE pid = -1")
        time.sleep(seconds)
    return "held"


@job("flow.backend")
def backend() -> int:
    """The server's process id of this process's database session."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


@job("flow.live", queue="live")
def live(context: JobContext, busy: str, stop: str) -> None:
    """Tells its progress twenty times a second while the file ``busy`` is there, until ``stop`` is."""
    step = 0
    while not Path(stop).exists():
        if Path(busy).exists():
            step += 1
            context.progress(step, 100_000)
        time.sleep(0.05)


@job("flow.mute", queue="mute")
def mute(context: JobContext) -> None:
    """Its worker's process dies after the commit of its end, before it could tell anybody."""
    events.subscribe(JobMoved, lambda event: os.kill(os.getpid(), signal.SIGKILL))
