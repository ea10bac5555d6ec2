"""A scenario of the live feed, bound to its sizes by the suite."""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.live.sizes import Sizes
from benchmarks.results import Row
from benchmarks.session import Session
from benchmarks.systems.base import System


@dataclass(frozen=True, slots=True)
class Scenario:
    """``name`` is what --only takes; ``systems`` are all that it runs."""

    name: str
    about: str
    systems: tuple[System, ...]
    run: Callable[[Bench, Sizes], list[Row]]


def open_site(session: Session) -> None:
    """Start what the system consists of; until it answers."""
    session.settle()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    session.start_workers()
    session.do("ready")
