"""One call of a method: who calls, from where; and what a method is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from jobsplatform.kernel.audit import Actor
from tasks.bus.auth import Caller
from tasks.models import Job

ADDRESS = "/bus/v1/"


@dataclass(frozen=True, slots=True)
class Call:
    """What a method is called with, beside its input."""

    caller: Caller
    method: str
    address: str = ""

    @property
    def app_id(self) -> str:
        """The app whose jobs these are."""
        return self.caller.app_id

    @property
    def actor(self) -> Actor:
        """Who acts, for the audit trail."""
        return self.caller.actor(self.address)

    def owns(self, job: Job) -> bool:
        """Is it a job of the calling app?"""
        return bool(job.app_id == self.caller.app_id)


Quota = Literal["creates", "events", "task_queue"]
"""``task_queue`` holds as much as ``events``, and is counted by itself."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method of the bus: ``name`` is ``service.method``; a token needs ``scope``.

    ``run(call, given)`` gets a validated ``takes`` and returns what ``gives`` describes: a mapping of JSON values.
    What it raises is answered as ``tasks.bus.errors`` says. ``cost`` says how much of ``quota`` a call takes.
    """

    name: str
    scope: str
    takes: type[BaseModel]
    gives: type[BaseModel]
    run: Callable[[Call, Any], dict[str, Any]]
    about: str
    quota: Quota | None = None
    cost: Callable[[Any], int] = lambda given: 1


Lane = tuple[str, str]
"""A queue and a handler key: where jobs of one type wait to be fetched."""


class NotYet(Exception):
    """A method that may wait has nothing to answer: it is run again after a hint, until ``seconds`` from its first
    run have passed; then ``answer`` is given. ``lanes``: it is no use before one of these has a job."""

    def __init__(self, seconds: float, answer: dict[str, Any], lanes: frozenset[Lane] = frozenset()) -> None:
        super().__init__("nothing to answer yet")
        self.seconds = seconds
        self.answer = answer
        self.lanes = lanes
