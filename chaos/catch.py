"""Plant one bug after the other, and see that a line of the table catches it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connections

from chaos.faults.every import FAULTS
from chaos.planted import BUGS, Bug
from chaos.platform import Servers
from chaos.run import Result, Say, fleet, running_web, struck
from tasks.models import Job


@dataclass(frozen=True, slots=True)
class Catch:
    """What the line of one fault said while a bug was in every worker."""

    name: str
    bug: Bug
    result: Result

    @property
    def seen(self) -> str:
        """The line that betrays the bug; empty when there is none, whatever else broke."""
        return next((problem for problem in self.result.problems if self.bug.sign in problem), "")


def catch(servers: Servers, names: Sequence[str], seed: int, say: Say) -> list[Catch]:
    """Each bug, in workers of its own. Raises CannotRun when the platform does not start."""
    catches = []
    with running_web(servers) as web:
        for name in names:
            bug = BUGS[name]
            say(f"planted: {name}: {bug.about}")
            fault = next(fault for fault in FAULTS if fault.name == bug.caught_by)
            with fleet(servers, web, name) as workers:
                result = struck(servers, workers, fault, seed, say)
            catches.append(Catch(name, bug, result))
            _forget(servers)
    return catches


def _forget(servers: Servers) -> None:
    """What one bug has left undone is nothing to the next."""
    connections.close_all()
    Job.objects.all().delete()
    client = servers.redis.client()
    client.flushall()
    client.close()
