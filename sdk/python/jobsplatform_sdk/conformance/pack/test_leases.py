"""Only the run that holds the lease counts, whatever is delivered twice, late, or never."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from jobsplatform_sdk import errors
from jobsplatform_sdk.conformance.platform import Platform
from jobsplatform_sdk.services import Jobs

WRITES: list[Callable[[Jobs, str, int], object]] = [
    lambda jobs, job_id, lease: jobs.update_progress(job_id, lease, 99, 99, "forged"),
    lambda jobs, job_id, lease: jobs.checkpoint(job_id, lease, "forged"),
    lambda jobs, job_id, lease: jobs.merge_data(job_id, lease, {"forged": True}),
    lambda jobs, job_id, lease: jobs.batch_children(
        job_id, lease, [{"job_type": "conf.echo", "child_key": "x"}]
    ),
    lambda jobs, job_id, lease: jobs.update_status(job_id, lease, {"kind": "completed"}),
]


def test_a_stale_lease_is_refused_and_changes_nothing(jp: Platform) -> None:
    job = jp.at_gate(jp.create("conf.gate").id)
    for lease in (job.lease - 1, job.lease + 1):
        for write in WRITES:
            with pytest.raises(errors.LeaseLost):
                write(jp.client.jobs, job.id, lease)
    ended = jp.open_gate(job)
    assert ended.result == {"runs": 1, "attempt": 1} and "forged" not in ended.data, ended
    assert jp.client.jobs.query({"parent": job.id}).jobs == []


def test_a_run_whose_lease_is_gone_stops_and_its_end_does_not_count(jp: Platform) -> None:
    job = jp.at_gate(jp.create("conf.gate").id)
    jp.client.jobs.update_status(job.id, job.lease, {"kind": "completed", "result": "elsewhere"})
    assert jp.ended(job.id).result == "elsewhere"
    # It hears of that with its next write, and is there for others.
    assert jp.run("conf.echo", {"value": 1}).status == "completed"
    after = jp.get(job.id)
    assert (after.status, after.result) == ("completed", "elsewhere"), after


def test_a_second_create_under_the_same_key_is_the_same_job(jp: Platform) -> None:
    key = str(uuid.uuid4())
    first = jp.client.jobs.create("conf.echo", {"value": 1}, idempotency_key=key)
    second = jp.client.jobs.create("conf.echo", {"value": 1}, idempotency_key=key)
    assert (first.status, second.status) == ("created", "replayed") and first.id == second.id
    with pytest.raises(errors.IdempotencyConflict):
        jp.client.jobs.create("conf.echo", {"value": 2}, idempotency_key=key)
    assert jp.ended(first.id).attempt == 1


def test_jobs_of_a_claim_whose_answer_was_lost_are_run_all_the_same(jp: Platform, jp_transport: str) -> None:
    if jp_transport != "claim":
        pytest.skip("nothing is claimed")
    jp.sidecars.current.kill()
    runner = str(uuid.uuid4())
    job = jp.create("conf.gate")
    claimed = jp.client.jobs.claim(runner, ["conf.gate"], limit=1, wait_seconds=5)
    assert [run.job.id for run in claimed.jobs] == [job.id]
    jp.client.jobs.heartbeat(runner, [], stopping=True)  # it knows of none
    jp.sidecars.start()
    ended = jp.open_gate(jp.at_gate(job.id))
    assert ended.result == {"runs": 1, "attempt": 1}, ended
    with pytest.raises(errors.LeaseLost):
        jp.client.jobs.update_status(job.id, claimed.jobs[0].lease, {"kind": "failed", "error": "late"})
