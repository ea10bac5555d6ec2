"""Params come in, and every ending goes out as it was meant."""

from __future__ import annotations

from typing import Any

import pytest

from jobsplatform_sdk import errors
from jobsplatform_sdk.conformance.platform import Platform

VALUES = [None, 0, -1.5, "", "ä \N{SNOWMAN} \N{PILE OF POO}", [1, [2]], {"a": {"b": [True, None]}}, 2**53]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_params_arrive_and_the_result_comes_back(jp: Platform, value: Any) -> None:
    job = jp.run("conf.echo", {"value": value}, user_id="7")
    assert job.status == "completed", job
    assert job.result["value"] == value
    assert job.result["attempt"] == 1 and job.result["user_id"] == "7"
    assert job.progress.pct == 100


def test_a_failure_for_good_uses_one_attempt(jp: Platform) -> None:
    job = jp.run("conf.fail", {"message": "boom"})
    assert (job.status, job.cause, job.attempt) == ("failed", "handler", 1), job
    assert job.error is not None and "boom" in job.error.message


def test_a_failure_that_may_be_tried_again_uses_all_attempts(jp: Platform) -> None:
    job = jp.run("conf.fail", {"message": "boom", "retryable": True})
    assert (job.status, job.cause, job.attempt) == ("failed", "handler", 2), job


def test_a_retry_uses_an_attempt(jp: Platform) -> None:
    job = jp.run("conf.retry", {"times": 2})
    assert job.status == "completed" and job.result == {"attempt": 3}, job


def test_a_snooze_uses_none(jp: Platform) -> None:
    job = jp.run("conf.snooze", {"times": 2})
    assert job.status == "completed" and job.result == {"attempt": 1, "snoozed": 2}, job


def test_a_discarded_job_is_cancelled_with_its_reason(jp: Platform) -> None:
    job = jp.run("conf.discard", {"reason": "nobody wants it"})
    assert job.status == "cancelled" and "nobody wants it" in job.reason, job


def test_a_pause_ends_by_itself_when_it_is_retryable(jp: Platform) -> None:
    job = jp.run("conf.pause", {"retryable": True})
    assert job.status == "completed" and job.result == "paused once", job


def test_a_pause_that_is_not_waits_for_somebody(jp: Platform) -> None:
    job = jp.in_state(jp.create("conf.pause", {"retryable": False}).id, "paused")
    assert "no disk" in job.reason
    assert jp.client.jobs.cancel(job.id).job.status == "cancelled"


def test_params_that_do_not_fit_are_refused_when_the_job_is_made(jp: Platform) -> None:
    for params in ({}, {"message": 5}, {"message": "a", "strange": 1}):
        with pytest.raises(errors.ParamsInvalid):
            jp.create("conf.fail", params)


def test_a_deferred_job_is_finished_from_outside(jp: Platform) -> None:
    job = jp.in_state(jp.create("conf.deferred").id, "waiting")
    jp.client.jobs.update_progress(job.id, job.lease, 2, 3, "half way")
    assert jp.get(job.id).progress.label == "half way"
    jp.client.jobs.update_status(job.id, job.lease, {"kind": "completed", "result": {"by": "outside"}})
    ended = jp.ended(job.id)
    assert ended.status == "completed" and ended.result == {"by": "outside"}, ended
    with pytest.raises(errors.LeaseLost) as late:
        jp.client.jobs.update_status(job.id, job.lease, {"kind": "failed", "error": "late"})
    assert late.value.state == "completed"


def test_a_deferred_job_past_its_deadline_has_timed_out(jp: Platform) -> None:
    job = jp.run("conf.deferred", {"seconds": 0.5}, max_attempts=1)
    assert (job.status, job.cause) == ("failed", "timeout"), job
