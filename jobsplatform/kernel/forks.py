"""No fork while a service thread is inside SQLite.

SQLite keeps process-wide mutexes. A child forked while another thread holds one finds it locked for ever, and
hangs at its first query. PostgreSQL's driver has no such state, so nothing waits there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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
