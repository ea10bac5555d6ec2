"""A run that is asked to stop does, and goes where the reason says."""

from __future__ import annotations

import pytest

from jobsplatform_sdk.conformance.platform import Platform


def test_a_user_cancels_it(jp: Platform) -> None:
    job = jp.at_gate(jp.create("conf.gate").id)
    assert jp.client.jobs.cancel(job.id).how in ("requested", "cancelled")
    ended = jp.ended(job.id)
    assert (ended.status, ended.reason) == ("cancelled", "user"), ended


def test_what_has_not_begun_is_cancelled_at_once(jp: Platform) -> None:
    job = jp.create("conf.gate", run_after=jp.far_away())
    assert jp.client.jobs.cancel(job.id).how == "cancelled"
    assert jp.get(job.id).status == "cancelled"


def test_it_gives_way_to_a_newer_one_and_goes_on_from_its_checkpoint(jp: Platform, jp_transport: str) -> None:
    if jp_transport in ("http", "celery"):
        pytest.skip("what was handed over whole is not taken back")
    older = jp.at_gate(jp.create("conf.gate").id)
    newer = jp.at_gate(jp.create("conf.gate").id)
    assert jp.client.jobs.preempt(newer.id) == [older.id]
    again = jp.at_gate(older.id, runs=2)
    assert again.lease != older.lease
    assert jp.open_gate(again).result == {"runs": 2, "attempt": 1}
    assert jp.open_gate(newer).result == {"runs": 1, "attempt": 1}


def test_a_suspension_interrupts_it_and_it_goes_on_afterwards(jp: Platform, jp_transport: str) -> None:
    if jp_transport in ("http", "celery"):
        pytest.skip("what was handed over whole is not taken back")
    job = jp.at_gate(jp.create("conf.gate").id)
    jp.operate("suspend", "conf.gate")
    try:
        jp.in_state(job.id, "pending")
    finally:
        jp.operate("unsuspend", "conf.gate")
    assert jp.open_gate(jp.at_gate(job.id, runs=2)).result == {"runs": 2, "attempt": 1}


def test_past_its_soft_time_limit_it_has_timed_out(jp: Platform, jp_transport: str) -> None:
    if jp_transport in ("http", "celery"):
        pytest.skip("a deferred job has a deadline instead")
    job = jp.run("conf.slow")
    assert (job.status, job.cause) == ("failed", "timeout"), job


def test_a_sidecar_that_ends_hands_back_what_it_runs(jp: Platform, jp_transport: str) -> None:
    if jp_transport == "celery":
        pytest.skip("a Celery worker that ends waits for its runs")
    job = jp.at_gate(jp.create("conf.gate").id)
    assert jp.sidecars.current.terminate() == 0
    jp.sidecars.start()
    ended = jp.open_gate(jp.at_gate(job.id, runs=2))
    assert ended.result["runs"] == 2, ended
    if jp_transport in ("claim", "inside"):
        assert ended.result["attempt"] == 1, "what was interrupted costs no attempt"
