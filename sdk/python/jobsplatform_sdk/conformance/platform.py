"""What the tests of the pack do with the platform: make jobs, wait for what becomes of them, look at them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest

from jobsplatform_sdk import Client, Job, clock
from jobsplatform_sdk.conformance.processes import Operator, Sidecars
from jobsplatform_sdk.errors import BusError, UnknownHandler

T = TypeVar("T")

PATIENCE = 60.0
"""Every wait here ends by its condition; this is how long a broken one may take to be told."""

LOOK_SECONDS = 0.05


def until(condition: Callable[[], T], what: str) -> T:
    """The condition's answer, once it is true. Raises AssertionError."""
    end = clock.monotonic() + PATIENCE
    while True:
        found = condition()
        if found:
            return found
        assert clock.monotonic() < end, f"{what}: not within {PATIENCE:g} seconds"
        clock.sleep(LOOK_SECONDS)


@dataclass(slots=True)
class Platform:
    """The platform, and the sidecars that work for it."""

    client: Client
    sidecars: Sidecars
    operator: Operator | None
    made: list[str] = field(default_factory=list)

    def be_ready(self) -> None:
        """Until a sidecar runs a job."""
        process = self.sidecars.current
        if process.ready:
            return

        def answered() -> bool:
            assert process.running, f"the sidecar has ended:\n{process.output[-4000:]}"
            try:
                self.ended(self.create("conf.echo").id)
            except UnknownHandler:
                return False
            return True

        until(answered, "the sidecar runs a job")
        process.ready = True

    def clear(self) -> None:
        """Cancel what has not ended."""
        for job_id in self.made:
            try:
                self.client.jobs.cancel(job_id, cascade=True)
            except BusError:
                continue

    def create(self, job_type: str, params: Mapping[str, Any] | None = None, **options: Any) -> Job:
        """A new job."""
        made = self.client.jobs.create(job_type, params, **options)
        self.made.append(made.id)
        assert made.job is not None
        return made.job

    def run(self, job_type: str, params: Mapping[str, Any] | None = None, **options: Any) -> Job:
        """A new job, ended."""
        return self.ended(self.create(job_type, params, **options).id)

    def get(self, job_id: str) -> Job:
        return self.client.jobs.get(job_id)

    def ended(self, job_id: str) -> Job:
        """The job, once it has ended."""
        return self.when(job_id, lambda job: job.ended, "the job ends")

    def in_state(self, job_id: str, *states: str) -> Job:
        """The job, once it is in one of these states."""
        return self.when(job_id, lambda job: job.status in states, f"the job is {' or '.join(states)}")

    def when(self, job_id: str, condition: Callable[[Job], object], what: str) -> Job:
        """The job, once the condition holds."""

        def look() -> Job | None:
            job = self.get(job_id)
            return job if condition(job) else None

        try:
            found = until(look, what)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {self.get(job_id)}") from None
        assert found is not None
        return found

    def at_gate(self, job_id: str, runs: int = 1) -> Job:
        """The ``conf.gate``, once it works in its run of this number."""
        return self.when(
            job_id,
            lambda job: job.data.get("runs") == runs and job.status in ("running", "waiting"),
            f"run {runs}",
        )

    def open_gate(self, job: Job) -> Job:
        """Let the ``conf.gate`` end; the ended job."""
        self.client.jobs.merge_data(job.id, job.lease, {"go": True})
        return self.ended(job.id)

    @staticmethod
    def far_away() -> datetime:
        """An instant that no test lives to see."""
        return datetime(2199, 1, 1, tzinfo=UTC)

    def operate(self, *words: str) -> None:
        """What the operator does; skips the test when there is none."""
        if self.operator is None:
            pytest.skip(f"needs --jp-operator, for {words[0]!r}")
        self.operator.do(*words)
