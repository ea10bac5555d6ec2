"""Enqueues jobs of ours, and turns the screws that only ours has."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from typing import Any
from uuid import UUID

import django

from benchmarks.client import Client

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jobsplatform.settings")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from benchmarks.systems.ours import jobs  # noqa: E402
from benchmarks.systems.ours.crowd import Crowd  # noqa: E402
from jobsplatform.kernel.audit import Actor  # noqa: E402
from tasks import control  # noqa: E402
from tasks.models import Job  # noqa: E402
from tasks.states import Priority  # noqa: E402

BENCH = Actor.system("bench")


class OurClient(Client):
    """Kinds beside the common ones: polite (waits for its cancel)."""

    def __init__(self) -> None:
        self._jobs: dict[int, UUID] = {}
        self._crowd: Crowd | None = None

    def prepare(self) -> None:
        call_command("migrate", verbosity=0, interactive=False)

    def enqueue_one(self, kind: str, number: int) -> None:
        getattr(jobs, kind).enqueue(number=number)

    def enqueue_many(self, kind: str, count: int) -> None:
        getattr(jobs, kind).enqueue_many([{"number": n} for n in range(count)])

    def urgent(self, kind: str, count: int, per_second: float) -> list[int]:
        """``paced``, for jobs that a user waits for."""
        handler = getattr(jobs, kind).using(priority=Priority.USER_ACTION)
        instants, began = [], time.monotonic()
        for n in range(count):
            time.sleep(max(0.0, began + n / per_second - time.monotonic()))
            instants.append(time.monotonic_ns())
            handler.enqueue(number=n)
        return instants

    def one_for_later(self, count: int) -> list[float]:
        """``one_by_one``, for jobs that are due tomorrow: nothing runs meanwhile."""
        handler = jobs.noop.using(run_after=timedelta(days=1))
        taken = []
        for number in range(count):
            began = time.perf_counter()
            handler.enqueue(number=number)
            taken.append(time.perf_counter() - began)
        return taken

    def begin(self, kind: str, number: int) -> None:
        """Enqueue one that can be cancelled by its number."""
        job_id = getattr(jobs, kind).enqueue(number=number).id
        self._jobs[number] = job_id

    def cancel(self, number: int) -> int:
        """Ask it to stop; the instant (monotonic ns) before."""
        instant = time.monotonic_ns()
        control.cancel(self._jobs.pop(number), actor=BENCH)
        return instant

    def completed(self) -> int:
        """How many jobs have completed, on any database."""
        return Job.objects.filter(state="completed").count()

    def clear(self) -> None:
        """Forget what still waits, so that the platform comes to rest."""
        Job.objects.filter(state="pending").delete()

    def crowd(self, step: str, **arguments: Any) -> Any:
        """What ``Crowd`` does: a great many rows, and the cost of a claim among them."""
        self._crowd = self._crowd or Crowd(connection)
        return getattr(self._crowd, step)(**arguments)


def make() -> OurClient:
    return OurClient()
