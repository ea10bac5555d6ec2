"""From a declared job type to jobs of it: ``handler.using(…).enqueue(…)``, the same for every kind of handler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from asgiref.sync import sync_to_async

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput
from tasks.requests import instant
from tasks.spec import JobSpec
from tasks.submit import JobRequest, SubmitResult, submit, submit_each


@dataclass(frozen=True, slots=True)
class Bound:
    """A job type with options for the jobs that it enqueues; made by ``using``."""

    spec: JobSpec
    options: Mapping[str, Any]

    def request(self, params: Mapping[str, Any]) -> JobRequest:
        """The request for one job with these params."""
        return JobRequest(
            job_type=self.spec.job_type, app_id=self.spec.app_id, params=dict(params), **self.options
        )

    def enqueue(self, /, **params: Any) -> SubmitResult:
        """Submit one job, inside the caller's transaction if there is one.

        Raises ParamsInvalid and what ``tasks.submit.submit`` raises; then nothing is stored.
        """
        return submit(self.request(params))

    def enqueue_many(self, params: Iterable[Mapping[str, Any]]) -> list[SubmitResult]:
        """Submit a job for each of ``params``, all or none; results in the same order."""
        return submit_each(self.request({}), params)

    async def aenqueue(self, /, **params: Any) -> SubmitResult:
        """``enqueue`` for async code."""
        return await sync_to_async(self.enqueue)(**params)

    async def aenqueue_many(self, params: Iterable[Mapping[str, Any]]) -> list[SubmitResult]:
        """``enqueue_many`` for async code."""
        return await sync_to_async(self.enqueue_many)(params)


class Enqueues:
    """What every handler can do with its ``spec``."""

    spec: JobSpec

    def using(
        self,
        *,
        run_after: datetime | timedelta | None = None,
        priority: int | None = None,
        queue: str | None = None,
        dedupe_key: str | None = None,
        idempotency_key: str | None = None,
        concurrency_key: str | None = None,
        user_id: str | None = None,
        tenant_id: str | None = None,
        max_attempts: int | None = None,
    ) -> Bound:
        """The same job type with other options: ``build.using(priority=Priority.URGENT).enqueue(…)``.

        ``run_after`` is an aware instant, or a length from now. Raises InvalidInput for a naive one.
        """
        options: dict[str, Any] = {
            "run_after": _instant(run_after),
            "priority": priority,
            "queue": queue,
            "dedupe_key": dedupe_key,
            "idempotency_key": idempotency_key,
            "concurrency_key": concurrency_key,
            "user_id": user_id,
            "tenant_id": tenant_id,
            "max_attempts": max_attempts,
        }
        given = {name: value for name, value in options.items() if value is not None}
        return Bound(self.spec, given)

    def enqueue(self, /, **params: Any) -> SubmitResult:
        """Submit one job; see ``Bound.enqueue``."""
        return Bound(self.spec, {}).enqueue(**params)

    def enqueue_many(self, params: Iterable[Mapping[str, Any]]) -> list[SubmitResult]:
        """Submit many jobs, all or none; see ``Bound.enqueue_many``."""
        return Bound(self.spec, {}).enqueue_many(params)

    async def aenqueue(self, /, **params: Any) -> SubmitResult:
        """``enqueue`` for async code."""
        return await Bound(self.spec, {}).aenqueue(**params)

    async def aenqueue_many(self, params: Iterable[Mapping[str, Any]]) -> list[SubmitResult]:
        """``enqueue_many`` for async code."""
        return await Bound(self.spec, {}).aenqueue_many(params)


def _instant(run_after: datetime | timedelta | None) -> datetime | None:
    if not isinstance(run_after, timedelta):
        return instant(run_after, "run_after")
    try:
        return instant(clock.now() + run_after, "run_after")
    except OverflowError:
        raise InvalidInput(f"run_after: {run_after} from now is beyond the year 9998.") from None
