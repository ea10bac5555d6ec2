"""The protocol of a system: how it is prepared, fed, started and counted."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from benchmarks.errors import NotMeasured
from benchmarks.handlers import FOLDER

SLOTS = 2
"""Worker processes that run jobs, of every system."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one measurement happens. ``database_url`` is empty for a system without one."""

    folder: Path
    database_url: str
    redis_url: str


class System(ABC):
    """One system, in one way of use. The heavy parts live in other processes: its client and its workers."""

    name: str
    """In tables and in ``--json``."""

    schema: str
    """Systems of one schema share their database template."""

    client: str
    """Module whose ``make()`` gives the ``benchmarks.client.Client``."""

    settings: str
    """How it is set up, in one line."""

    database = True
    needs: tuple[str, ...] = ()
    """Modules that must be there."""

    done_sql = ""
    """How many jobs its own tables say are done. Empty: it keeps no record of that."""

    left_sql = ""
    """Or how many its tables say are left to do."""

    def require(self) -> None:
        """Raises NotMeasured when something is missing, with the way to get it."""
        missing = [module for module in self.needs if find_spec(module) is None]
        if missing:
            raise NotMeasured(
                f"{', '.join(missing)} not installed here; run it by ./dev bench, which installs it"
            )

    def environment(self, place: Place) -> dict[str, str]:
        """The environment of its client and its workers."""
        return {FOLDER: str(place.folder), "DATABASE_URL": place.database_url, "REDIS_URL": place.redis_url}

    @abstractmethod
    def workers(self) -> list[list[str]]:
        """The commands that start its workers: together ``SLOTS`` processes that run jobs."""


def python(module: str, *arguments: str) -> list[str]:
    """The command that runs a module with this Python."""
    return [sys.executable, "-m", module, *arguments]
