"""Sidecars and platforms die in the middle of a job; the job does not."""

from __future__ import annotations

import pytest

from jobsplatform_sdk import errors
from jobsplatform_sdk.conformance.platform import Platform


def test_a_sidecar_is_killed_in_mid_job_and_another_goes_on(jp: Platform, jp_transport: str) -> None:
    job = jp.at_gate(jp.create("conf.gate").id)
    jp.sidecars.current.kill()
    jp.sidecars.start()
    again = jp.at_gate(job.id, runs=2)
    if again.lease != job.lease:
        with pytest.raises(errors.LeaseLost):
            jp.client.jobs.update_status(job.id, job.lease, {"kind": "completed", "result": "late"})
    ended = jp.open_gate(again)
    assert ended.status == "completed" and ended.result["runs"] == 2, ended
    if jp_transport in ("claim", "inside"):
        assert ended.result["attempt"] == 1, "what was lost costs no attempt"


def test_the_platform_is_restarted_in_mid_job(jp: Platform, jp_transport: str) -> None:
    job = jp.at_gate(jp.create("conf.gate").id)
    jp.operate("restart")
    # The same run goes on, or a second one from its checkpoint: it ends once, and well.
    now = jp.when(job.id, lambda now: now.status in ("running", "waiting"), "it runs")
    while True:
        try:
            ended = jp.open_gate(now)
            break
        except errors.LeaseLost:
            now = jp.when(job.id, lambda now: now.status in ("running", "waiting"), "it runs again")
    assert ended.status == "completed", ended
    if jp_transport in ("claim", "inside"):
        assert ended.result["attempt"] == 1, ended
    assert jp.run("conf.echo", {"value": 1}).result["value"] == 1
