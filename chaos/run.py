"""Strike one fault after the other on one running platform, and collect what held."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from types import TracebackType
from typing import Self

from django.core.management import call_command
from django.db import connections

from chaos.errors import CannotRun
from chaos.faults.base import Fault
from chaos.faults.every import FAULTS
from chaos.fleet import STEADY, Fleet, Web
from chaos.planted import BUGS
from chaos.platform import Servers
from chaos.result import Result, line
from chaos.scene import Scene
from tasks.models import Job

Say = Callable[[str], None]

PLANTED_PATIENCE = 25.0
"""Seconds: with a bug in the workers much never comes, and waiting for it shows nothing more."""


class Platform:
    """One platform and its workers, as a context manager. Raises CannotRun when it does not start. ``steady``: with a
    worker that no fault strikes, and jobs for it all the time."""

    def __init__(self, servers: Servers, seed: int, say: Say, *, steady: bool = False) -> None:
        self._always = (STEADY,) if steady else ()
        self._servers, self._seed, self._say = servers, seed, say
        self._held = ExitStack()

    def __enter__(self) -> Self:
        self.web = self._held.enter_context(running_web(self._servers))
        self.workers = Fleet(self._servers, self.web, always=self._always)
        self._held.callback(self.workers.close)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def strike(self, name: str, number: int | None = None) -> Result:
        """Strike one fault, by its name, and tell. ``number``: of several strikes, to tell their jobs apart."""
        result = self._struck(self.workers, fault_named(name), number)
        if not result.holds:
            # What one fault has broken shall not break the next.
            for worker in self.workers.workers.keys() - self.workers.always:
                self.workers.kill(worker)
            self._forget()
        return result

    def calm_down(self) -> None:
        """Let the workers go that faults strike: who is left, and what it holds open, is the same each time."""
        _muster(self.workers, ())

    @property
    def steady_pid(self) -> int:
        """The process id of the worker that no fault strikes."""
        return self.workers.workers[STEADY].pid

    def plant(self, name: str) -> Result:
        """The same with a bug in every worker: the fault that must catch it."""
        self.workers.close()
        bug = BUGS[name]
        self._say(f"planted: {name}: {bug.about}")
        infested = Fleet(self._servers, self.web, name)
        try:
            return self._struck(infested, fault_named(bug.caught_by), keep=False)
        finally:
            infested.close()
            self._forget()

    def _struck(
        self, workers: Fleet, fault: Fault, number: int | None = None, *, keep: bool = True
    ) -> Result:
        self._say(f"… {fault.name}: {fault.shows}")
        late = [f"after the fault before: {words}" for words in workers.ended()]
        _muster(workers, fault.workers)
        result = self._one(
            workers, fault, fault.name if number is None else f"{fault.name}-{number}", late, keep
        )
        self._say(line(result))
        return result

    def _one(self, workers: Fleet, fault: Fault, name: str, problems: list[str], keep: bool) -> Result:
        """What breaks in it is a broken promise too."""
        # The jobs of the last fault have ended; the file grows on, but need not be read again and again.
        self._servers.ledger.forget()
        scene = Scene(name, self._servers, workers, random.Random(f"{self._seed}/{name}"))
        scene.problems += problems
        if not keep:
            scene.patience = PLANTED_PATIENCE
        began = time.monotonic()
        try:
            with scene.flow_beside(STEADY) if workers.always else nullcontext():
                fault.strike(scene)
            if workers.always:
                scene.settle()
            scene.judge()
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            scene.problems.append(f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})")
        kept = str(self._servers.keep()) if scene.problems and keep else ""
        seconds = time.monotonic() - began
        return Result(
            fault.name, fault.shows, scene.jobs, scene.runs, seconds, scene.notes, scene.problems, kept
        )

    def _forget(self) -> None:
        """Nothing of what was left undone remains."""
        connections.close_all()
        Job.objects.all().delete()
        client = self._servers.redis.client()
        client.flushall()
        client.close()


def _muster(workers: Fleet, names: Iterable[str]) -> None:
    try:
        workers.muster(names)
    except (AssertionError, TimeoutError) as error:
        raise CannotRun(f"a worker does not start or end: {error}") from None


def fault_named(name: str) -> Fault:
    """The fault of this name. Raises StopIteration for a name that is none."""
    return next(fault for fault in FAULTS if fault.name == name)


@contextmanager
def running_web(servers: Servers) -> Iterator[Web]:
    """The tables, and a web process. Raises CannotRun."""
    call_command("migrate", verbosity=0)
    web = Web(servers)
    try:
        web.wait_ready()
        yield web
    except TimeoutError as error:
        raise CannotRun(f"the web process does not start: {error}") from None
    finally:
        web.close()
        connections.close_all()
