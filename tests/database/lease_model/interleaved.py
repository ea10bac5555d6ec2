"""Two dispatch rounds at once on one connection: the second runs between the first one's count and its claim.

A lock row that the first holds would make the second wait; here it then gives up and runs afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from unittest.mock import patch

from jobsplatform.kernel import db
from tasks import dispatch


class _Waits(Exception):
    """The second round needs a lock row that the first one holds."""


def two_rounds(first: Callable[[], object], second: Callable[[], object]) -> None:
    """Run ``first`` with ``second`` in its middle, or after it where a lock says so."""
    held: set[str] = set()
    state = {"inside": False, "done": False}
    lock_rows, claim_chosen = db.lock_rows, dispatch._claim_chosen

    def locking(model: Any, names: Iterable[str], *more: Any) -> Any:
        wanted = set(names)
        if state["inside"]:
            if wanted & held:
                raise _Waits
        else:
            held.update(wanted)
        return lock_rows(model, wanted, *more)

    def claiming(*args: Any) -> Any:
        if not state["inside"] and not state["done"]:
            state["inside"] = True
            try:
                second()
                state["done"] = True
            except _Waits:
                pass
            finally:
                state["inside"] = False
        return claim_chosen(*args)

    with patch.object(db, "lock_rows", locking), patch.object(dispatch, "_claim_chosen", claiming):
        first()
    if not state["done"]:
        second()
