"""Fetching jobs, and ending them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from jobsplatform.testing.platform import HandPlatform
from tasks import inline
from tasks.models import Job
from tests.database.bus.client import MakeClient
from tests.database.bus_running.conftest import Side, key

pytestmark = pytest.mark.django_db


def test_a_sidecar_fetches_a_job_runs_it_and_ends_it(side: Side):
    job_id = side.create(params={"title": "Dune"}, user_id="u1")
    (given,) = side.claim()
    assert given["job"]["id"] == job_id
    assert given["job"]["status"] == "running"
    assert given["job"]["queue"] == "bus.video"
    assert (given["job"]["params"], given["attempt"], given["run_reason"]) == ({"title": "Dune"}, 1, "live")
    after = side.end(key(given), "completed", result={"found": 3}, count=3)
    assert after == {"state": "completed", "cancel": None, "lease_expires_at": None}
    assert side.job(key(given))["result"] == {"found": 3}


def test_nothing_to_run_is_no_error(side: Side):
    assert side.claim(limit=5) == []


def test_a_worker_never_runs_what_a_sidecar_has_bound(side: Side, jobs: HandPlatform):
    job_id = side.create()
    Job.objects.filter(id=job_id).update(queue="default")  # as of a type that was the host's own before
    jobs.drain()
    job = Job.objects.get(id=job_id)
    assert (job.state, job.attempt, job.reason) == ("pending", 0, "")


@pytest.mark.parametrize(
    ("ending", "state", "failures"),
    [
        ({"kind": "completed"}, "completed", 0),
        ({"kind": "failed", "error": "no"}, "pending", 1),
        ({"kind": "failed", "error": "no", "retryable": False}, "failed", 1),
        ({"kind": "retry", "after": 5.0, "error": "again"}, "pending", 1),
        ({"kind": "snooze", "seconds": 60.0}, "pending", 0),
        ({"kind": "discarded", "reason": "gone"}, "cancelled", 0),
        ({"kind": "paused", "reason": "quota", "retryable": False}, "paused", 0),
        ({"kind": "deferred", "deadline_seconds": 60.0}, "waiting", 0),
        ({"kind": "cancelled"}, "cancelled", 0),
        ({"kind": "interrupted", "reason": "deploy"}, "pending", 0),
    ],
)
@pytest.mark.parametrize("deferred", [False, True])
def test_every_ending(side: Side, ending: dict[str, Any], state: str, failures: int, deferred: bool):
    run = side.run()
    if deferred:
        assert side.end(run, "deferred")["state"] == "waiting"
    assert side.end(run, **ending)["state"] == state
    job = Job.objects.get(id=run["id"])
    assert (job.state, job.failures) == (state, failures)


def test_an_ending_that_was_accepted_is_not_accepted_again(side: Side):
    run = side.run()
    side.end(run, "completed")
    body = {**run, "ending": {"kind": "failed", "error": "late"}}
    error = side.client.refused("LEASE_LOST", "jobs.update_status", body)
    assert error["details"] == {"state": "completed"}
    assert side.job(run)["status"] == "completed"


def test_reports_of_a_run(side: Side):
    run = side.run(data={"a": 1})
    told = side.client.ok("jobs.update_progress", {**run, "done": 3, "total": 2, "label": "x"})
    assert told["cancel"] is None and told["lease_expires_at"].endswith("Z")
    side.client.ok("jobs.checkpoint", {**run, "cursor": {"page": 2}})
    assert side.client.ok("jobs.merge_data", {**run, "data": {"b": 2}})["data"] == {"a": 1, "b": 2}
    assert side.job(run)["progress"]["total"] == 3
    side.end(run, "interrupted")
    (again,) = side.claim()
    assert (again["cursor"], again["lease"], again["attempt"]) == ({"page": 2}, run["lease"] + 1, 1)


def test_a_report_is_one_look_and_one_write(side: Side, django_assert_max_num_queries):
    run = side.run()
    side.client.ok("jobs.update_progress", {**run, "done": 1})
    with django_assert_max_num_queries(3):  # and the end of its lease, by its runner's heartbeat
        side.client.ok("jobs.update_progress", {**run, "done": 2})


def test_a_stale_lease_changes_nothing(side: Side):
    run = side.run()
    side.end(run, "interrupted")
    side.claim()
    for method, more in (
        ("jobs.update_progress", {"done": 1}),
        ("jobs.checkpoint", {"cursor": 1}),
        ("jobs.merge_data", {"data": {"x": 1}}),
        ("jobs.batch_children", {"children": [{"job_type": "scrape"}]}),
        ("jobs.update_status", {"ending": {"kind": "completed"}}),
    ):
        error = side.client.refused("LEASE_LOST", method, {**run, **more})
        assert error["details"] == {"state": "running"}
    assert Job.objects.count() == 1


def test_another_apps_runs_are_as_if_they_were_not(side: Side, bus_client: MakeClient):
    run = side.run()
    other = bus_client("music")
    for method, more in (
        ("jobs.update_progress", {"done": 1}),
        ("jobs.update_status", {"ending": {"kind": "completed"}}),
        ("jobs.batch_children", {"children": [{"job_type": "scrape"}]}),
    ):
        other.refused("NOT_FOUND", method, {**run, **more})
    thief = Side(other)
    thief.runner_id = side.runner_id
    thief.client.refused(
        "UNKNOWN_HANDLER", "jobs.claim", {"runner_id": side.runner_id, "job_types": ["scrape"]}
    )
    assert thief.beat(run)["runs"] == [{**run, "held": False, "cancel": None}]
    assert side.beat(run)["runs"] == [{**run, "held": True, "cancel": None}]


def test_a_cancel_is_told_with_every_answer(side: Side):
    run = side.run()
    side.client.ok("jobs.cancel", {"id": run["id"]})
    assert side.client.ok("jobs.update_progress", {**run, "done": 1})["cancel"] == "user"
    assert side.beat(run)["runs"][0]["cancel"] == "user"
    assert side.end(run, "completed", result=1)["state"] == "cancelled"


def test_children_and_the_continuation(side: Side):
    side.bind("parent", continuation=True)
    side.create("parent")
    (given,) = side.claim("parent")
    children = [{"job_type": "scrape", "params": {"n": n}} for n in range(3)]
    body = {**key(given), "children": children}
    ids = side.client.ok("jobs.batch_children", body)["ids"]
    assert side.client.ok("jobs.batch_children", body)["ids"] == ids
    assert side.end(key(given), "completed")["state"] == "waiting"
    for child in side.claim(limit=3, capacity=4):
        side.end(key(child), "completed", result=child["job"]["params"]["n"])
    (again,) = side.claim("parent")
    assert again["continuing"]
    assert [child["result"] for child in again["children"]] == [0, 1, 2]
    assert side.end(key(again), "completed", result="all")["state"] == "completed"


def test_of_very_large_children_the_first_are_told_whole(side: Side, monkeypatch):
    monkeypatch.setattr("tasks.bus.deliveries.MOST_CHILDREN_BYTES", 3000)
    monkeypatch.setattr("tasks.family._FEW", 2)
    side.bind("parent", continuation=True)
    side.create("parent")
    (given,) = side.claim("parent")
    children = [{"job_type": "scrape", "data": {"n": n}} for n in range(5)]
    ids = side.client.ok("jobs.batch_children", {**key(given), "children": children})["ids"]
    side.end(key(given), "completed")
    for child in side.claim(limit=5, capacity=6):
        side.end(key(child), "completed", result="x" * 1000)
    told = side.claim("parent")[0]["children"]
    assert [child["id"] for child in told] == ids
    assert [child["result"] for child in told] == ["x" * 1000] * 2 + [None] * 3
    assert [child["data"] for child in told] == [{"n": 0}, {"n": 1}, {}, {}, {}]


def test_where_callers_run_their_jobs_those_of_sidecars_wait_for_them(side: Side):
    job_id = side.create()
    assert inline.run_now(UUID(job_id)) is False
    assert side.claim()[0]["job"]["id"] == job_id
