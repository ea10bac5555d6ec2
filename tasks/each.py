"""Steps of a sweep over many jobs: one that cannot be done is logged, and stops none of the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TypeVar

from django.db import InterfaceError, OperationalError

from jobsplatform.kernel.db import is_locked, is_postgres

logger = logging.getLogger("jobsplatform.rescue")

T = TypeVar("T")


def done(what: str, items: Iterable[T], do: Callable[[T], bool]) -> int:
    """How many of ``items`` ``do`` did something to; one whose row somebody holds is left for the next sweep. ``what``:
    the step, for the log. Raises what says that the database is away: OperationalError, InterfaceError."""
    count = 0
    for item in items:
        try:
            count += do(item)
        except (OperationalError, InterfaceError) as error:
            if not (is_postgres() and is_locked(error)):
                raise
            logger.warning("%s waits for whoever holds the row of %s", what, item)
        except Exception:
            logger.exception("%s failed for %s; it is tried again with the next sweep", what, item)
    return count
