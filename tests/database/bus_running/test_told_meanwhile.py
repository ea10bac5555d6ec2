"""What a sidecar tells while it stops, or before its call is answered, is not overruled by what comes late."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobsplatform.kernel import clock
from jobsplatform.kernel.models import Process
from jobsplatform.testing.platform import HandPlatform
from tasks.bus import bindings
from tasks.bus.delivery import Deliverer
from tasks.bus.leaving import Leaving
from tasks.models import HandlerBinding, Job
from tasks.outcomes import Ending
from tests.database.bus_running.conftest import Side
from tests.database.bus_running.test_callback import ACTOR


@pytest.mark.django_db(transaction=True)
def test_the_deadline_that_a_called_sidecar_has_told_is_not_put_off_by_the_answer_later(side: Side):
    body = {"job_type": "called", "service": "media", "transport": "http", "url": "http://192.0.2.1/run"}
    side.client.ok("jobs.register_handler", body)
    bindings.approve(HandlerBinding.objects.get(job_type="called").pk, actor=ACTOR, now=clock.now())
    job_id = side.create("called")

    def bring(job: Job, handler: Any, leaving: Leaving) -> Ending:
        side.end({"id": job_id, "lease": job.lease}, "deferred", deadline_seconds=5)
        return Ending("deferred", deadline=86_400)

    deliverer = Deliverer("http", bring)
    deliverer.step()
    assert deliverer._pool is not None
    deliverer._pool.shutdown(wait=True)
    deliverer._pool = None
    job = Job.objects.get(id=job_id)
    assert job.deadline_at is not None and job.deadline_at - clock.now() <= timedelta(seconds=5)
    deliverer.stop(5)


@pytest.mark.django_db
@pytest.mark.parametrize(("url", "state"), [(None, "failed"), ("http://192.0.2.1/run", "pending")])
def test_a_deadline_that_has_passed_is_how_the_death_of_one_that_is_brought_its_jobs_is_noticed(
    side: Side, jobs: HandPlatform, url: str | None, state: str
):
    side.bind("kept", max_attempts=2)
    run = side.run(job_type="kept")
    side.end(run, "deferred", deadline_seconds=5)
    if url is not None:
        body = {"job_type": "kept", "service": "media", "transport": "http", "url": url}
        side.client.ok("jobs.register_handler", {**body, "spec": {"max_attempts": 2}})
    jobs.advance(6)
    jobs.sweep()
    assert side.job(run)["status"] == state


@pytest.mark.django_db
def test_past_its_soft_limit_a_run_that_stops_has_timed_out(side: Side, jobs: HandPlatform):
    side.bind("brief", soft_timeout=5, max_attempts=1)
    run = side.run(job_type="brief")
    jobs.advance(6)
    assert side.beat(run)["runs"][0]["cancel"] == "timeout"
    assert side.end(run, "cancelled")["state"] == "failed"
    assert side.job(run)["cause"] == "timeout"


@pytest.mark.django_db
def test_a_claim_of_a_sidecar_that_has_said_goodbye_brings_nothing_and_does_not_wait(side: Side):
    side.claim()
    side.beat(stopping=True)
    side.create()
    assert side.claim(wait_seconds=30) == []
    assert Process.objects.filter(role=Process.Role.SIDECAR, stopped_at=None).count() == 0
