"""Steps of a sweep over many jobs: one that cannot be done is logged, and stops none of the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TypeVar

from django.db import InterfaceError, OperationalError

logger = logging.getLogger("jobsplatform.rescue")

T = TypeVar("T")


def done(what: str, items: Iterable[T], do: Callable[[T], bool]) -> int:
    """How many of ``items`` ``do`` did something to. ``what``: the step, for the log. Raises what says that the
    database is away: OperationalError, InterfaceError."""
    count = 0
    for item in items:
        try:
            count += do(item)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            logger.exception("%s failed for %s; it is tried again with the next sweep", what, item)
    return count
