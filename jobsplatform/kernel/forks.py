"""Forks: none while a service thread is inside SQLite, and one for work that must leave nothing behind.

SQLite keeps process-wide mutexes. A child forked while another thread holds one finds it locked for ever, and
hangs at its first query. PostgreSQL's driver has no such state, so nothing waits there.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from django.db import connection

PATIENCE_SECONDS = 2.0
"""A fork waits no longer than this for the service threads to come out of their rounds."""


class ForkGuard:
    """Rounds of service threads are inside; a fork waits until none is, and keeps new ones out meanwhile."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._inside = 0
        self._forking = False

    @contextmanager
    def round(self) -> Iterator[None]:
        """One round of a service thread."""
        if connection.vendor != "sqlite":
            yield
            return
        with self._changed:
            self._changed.wait_for(lambda: not self._forking, PATIENCE_SECONDS)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside = max(0, self._inside - 1)
                self._changed.notify_all()

    def before(self) -> None:
        """A fork is about to happen, in this thread."""
        with self._changed:
            self._forking = True
            self._changed.wait_for(lambda: self._inside == 0, PATIENCE_SECONDS)

    def after_in_parent(self) -> None:
        """It has happened."""
        with self._changed:
            self._forking = False
            self._changed.notify_all()

    def after_in_child(self) -> None:
        """No thread but this one came along."""
        self.__init__()  # type: ignore[misc]


GUARD = ForkGuard()

os.register_at_fork(
    before=GUARD.before,
    after_in_parent=GUARD.after_in_parent,
    after_in_child=GUARD.after_in_child,
)


def run_apart(work: Callable[[], None]) -> None:
    """Do ``work`` in a fork of this process, so that what it loads and opens goes with it. A SystemExit there is
    one here.

    Only Linux forks safely with libraries loaded; elsewhere it is done here.
    """
    if sys.platform != "linux":
        work()
        return
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # else the child writes it once more
    child = os.fork()
    if child == 0:
        _end_with(work)
    _, status = os.waitpid(child, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise SystemExit(code if code > 0 else 128 - code)


def _end_with(work: Callable[[], None]) -> NoReturn:
    """Leave the process by ``os._exit``: the exit handlers are those of the parent."""
    code = 1
    try:
        work()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        logging.shutdown()
        os._exit(code)
