"""Strike one fault after the other on one running platform, and collect what held."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.core.management import call_command
from django.db import connections

from chaos.errors import CannotRun
from chaos.faults.base import Fault
from chaos.fleet import Fleet, Web
from chaos.platform import Servers
from chaos.scene import Scene

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table. ``jobs`` and ``runs`` are counted, never planned."""

    fault: Fault
    jobs: int
    runs: int
    seconds: float
    notes: list[str]
    problems: list[str]

    @property
    def holds(self) -> bool:
        return not self.problems


def run(servers: Servers, faults: Sequence[Fault], seed: int, say: Say) -> list[Result]:
    """All of them in turn. Raises CannotRun when the platform does not start."""
    with running_web(servers) as web, fleet(servers, web) as workers:
        return [struck(servers, workers, fault, seed, say) for fault in faults]


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


@contextmanager
def fleet(servers: Servers, web: Web, everywhere: str = "") -> Iterator[Fleet]:
    """Workers, none of them started yet."""
    workers = Fleet(servers, web, everywhere)
    try:
        yield workers
    finally:
        workers.close()


def struck(
    servers: Servers, workers: Fleet, fault: Fault, seed: int, say: Say, number: int | None = None
) -> Result:
    """Strike one fault among the workers that it needs, and tell. ``number``: of several strikes, to tell their
    jobs apart. Raises CannotRun."""
    say(f"… {fault.name}: {fault.shows}")
    late = [f"after the fault before: {words}" for words in workers.ended()]
    try:
        workers.muster(fault.workers)
    except (AssertionError, TimeoutError) as error:
        raise CannotRun(f"a worker does not start: {error}") from None
    name = fault.name if number is None else f"{fault.name}-{number}"
    result = strike(servers, workers, fault, name, seed)
    result.problems.extend(late)
    say(line(result))
    return result


def strike(servers: Servers, workers: Fleet, fault: Fault, name: str, seed: int) -> Result:
    """One fault. What breaks in it is a broken promise too."""
    # The jobs of the last fault have ended; the file grows on, but need not be read again and again.
    servers.ledger.forget()
    scene = Scene(name, servers, workers, random.Random(f"{seed}/{name}"))
    began = time.monotonic()
    scene.jobs = scene.runs = 0
    try:
        fault.strike(scene)
        scene.judge()
    except Exception as error:
        scene.problems.append(f"{type(error).__name__}: {error}")
        traceback.print_exc()
    return Result(fault, scene.jobs, scene.runs, time.monotonic() - began, scene.notes, scene.problems)


def line(result: Result) -> str:
    """The result in one line, and one more for each broken promise."""
    told = f"{'holds ' if result.holds else 'BROKEN'}  {result.fault.name}"
    facts = f"{result.jobs} jobs, {result.runs} runs, {result.seconds:.1f} s"
    words = [f"{told}: {facts}{'; ' if result.notes else ''}{'; '.join(result.notes)}"]
    return "\n".join(words + [f"        {problem}" for problem in result.problems])
