"""Commit callbacks inside a test's own transaction.

Django's TestCase (and pytest-django's ``db``) wraps a test in a transaction that never commits, so nothing that
waits for a commit happens. Within ``commits()`` the end of the outermost transaction *of the code under test*
counts as its commit: its callbacks run then, and never after a rollback.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.transaction import Atomic, get_connection

_exit = Atomic.__exit__
_on_commit = BaseDatabaseWrapper.on_commit


def _only_the_test(connection: Any) -> bool:
    blocks = connection.atomic_blocks
    return bool(blocks) and all(getattr(block, "_from_testcase", False) for block in blocks)


def _run_callbacks(connection: Any) -> None:
    while connection.run_on_commit:
        callbacks, connection.run_on_commit = connection.run_on_commit, []
        for _savepoints, callback, _robust in callbacks:
            callback()


def _exit_and_run(self: Any, exc_type: Any, exc_value: Any, traceback: Any) -> None:
    _exit(self, exc_type, exc_value, traceback)
    connection = get_connection(self.using)
    if (
        not getattr(self, "_from_testcase", False)
        and _only_the_test(connection)
        and not connection.needs_rollback
    ):
        _run_callbacks(connection)


def _on_commit_or_now(self: Any, func: Any, robust: bool = False) -> None:
    if _only_the_test(self):
        func()
    else:
        _on_commit(self, func, robust)


@contextmanager
def commits() -> Iterator[None]:
    """See the module. Errors of callbacks are raised, so that a test sees them."""
    with (
        patch.object(Atomic, "__exit__", _exit_and_run),
        patch.object(BaseDatabaseWrapper, "on_commit", _on_commit_or_now),
    ):
        yield
