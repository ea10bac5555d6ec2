"""Tasks of Celery and of Django's framework, as jobs of a real worker."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from django.db import transaction

from tasks.models import Job
from tasks.states import Cause, State
from tests.flows.processes import Worker, ended, until
from tests.flows.theirs import jobs, letters

pytestmark = pytest.mark.flow

UNKNOWN = "tests.flows.theirs.letters.send_by_pigeon"


@pytest.fixture(scope="module")
def worker(start_worker: Callable[..., Worker]) -> Worker:
    return start_worker("-c", "2", APPS="tests.flows.flowapp,tests.flows.theirs")


def test_a_worker_finds_tasks_that_it_has_not_imported(worker: Worker) -> None:
    results = [letters.send.enqueue(number) for number in range(5)]
    for result in results:
        ended(UUID(result.id))
        result.refresh()
    assert [result.return_value for result in results] == [f"letter {number}" for number in range(5)]
    assert {result.worker_ids[0] for result in results} == {str(worker.process_id)}
    row = worker.row
    assert row is not None and f":{letters.send.module_path}" in row.handlers, "others see that it knows it"


def test_a_task_of_a_newer_release_waits_for_it(worker: Worker) -> None:
    with transaction.atomic():
        waiting = Job.objects.filter(id=letters.send.enqueue(1).id)
        # As a release would have made it that has this task.
        waiting.update(job_type=UNKNOWN, handler_key=f":{UNKNOWN}")
    other = letters.send.enqueue(2)
    ended(UUID(other.id))
    assert waiting.get().state == State.PENDING
    waiting.delete()


def test_a_task_that_is_killed_says_why(worker: Worker) -> None:
    result = letters.write.enqueue()
    job = ended(UUID(result.id))
    assert (job.state, job.cause, job.progress_label) == (State.FAILED, Cause.TIMEOUT, "half a page")
    result.refresh()
    assert result.errors[0].exception_class.__name__ == "TimeLimitExceeded"


def test_a_celery_task_is_retried_by_its_job(worker: Worker) -> None:
    made = jobs.stubborn.enqueue(times=2)
    assert made.id is not None
    job = ended(made.id)
    assert (job.state, job.result, job.failures) == (State.COMPLETED, [2, str(made.id)], 2)
    assert [attempt.outcome for attempt in job.attempts.order_by("lease")] == ["retry", "retry", "complete"]


def test_its_own_time_limit_is_kept(worker: Worker) -> None:
    made = jobs.endless.enqueue()
    assert made.id is not None
    job = ended(made.id)
    assert (job.state, job.cause) == (State.FAILED, Cause.TIMEOUT)
    assert until(lambda: len(worker.children) == 2)
