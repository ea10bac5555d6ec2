"""A release that no longer calls a type exclusive, while jobs of the old release wait."""

from __future__ import annotations

import pytest

from jobsplatform.testing.platform import HandPlatform
from tasks import registry
from tasks.handlers import job
from tasks.models import Job
from tasks.states import State


@pytest.mark.parametrize("most", [None, 3])
def test_waiting_rows_of_a_type_that_was_exclusive_still_go_one_by_one(
    jobs: HandPlatform, most: int | None
) -> None:
    @job("release.alone", exclusive=True)
    def alone() -> None: ...

    @job("release.other")
    def other() -> None: ...

    ids = [jobs.submit(alone) for _ in range(3)]
    registry.unregister(":release.alone")

    @job("release.alone", max_concurrency=most)
    def not_alone() -> None: ...

    beside = jobs.submit(other)
    jobs.worker.dispatch()
    assert Job.objects.filter(id__in=ids, state=State.DISPATCHED).count() == 1
    assert jobs.state(beside) is State.DISPATCHED
    jobs.worker.work()
    assert {jobs.state(job_id) for job_id in ids} == {State.COMPLETED}
