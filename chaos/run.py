"""Strike one fault after the other on one running platform, and collect what held."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.core.management import call_command
from django.db import connections

from chaos.errors import CannotRun
from chaos.faults.base import Fault
from chaos.fleet import Fleet
from chaos.platform import Servers
from chaos.scene import Scene


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


def run(servers: Servers, faults: Sequence[Fault], seed: int, say: Callable[[str], None]) -> list[Result]:
    """All of them in turn. Raises CannotRun when the platform does not start."""
    call_command("migrate", verbosity=0)
    fleet = Fleet(servers)
    try:
        results = []
        for fault in faults:
            say(f"… {fault.name}: {fault.shows}")
            try:
                fleet.muster(fault.workers)
                fleet.web.wait_ready()
            except (AssertionError, TimeoutError) as error:
                raise CannotRun(f"the platform does not start: {error}") from None
            result = strike(servers, fleet, fault, seed)
            say(line(result))
            results.append(result)
        return results
    finally:
        fleet.close()
        connections.close_all()


def strike(servers: Servers, fleet: Fleet, fault: Fault, seed: int) -> Result:
    """One fault. What breaks in it is a broken promise too."""
    scene = Scene(fault.name, servers, fleet, random.Random(f"{seed}/{fault.name}"))
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
