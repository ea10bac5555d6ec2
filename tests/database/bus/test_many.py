"""What is done to many jobs at once."""

import pytest

from jobsplatform.kernel.models import AuditEvent
from jobsplatform.testing.platform import HandPlatform
from tasks.models import Job
from tests.database.bus.client import BusClient


@pytest.fixture
def family(video: BusClient, make_job) -> Job:
    """A parent with children in several states."""
    parent = make_job(state="waiting", app_id="video", job_type="scan")
    for n, state in enumerate(["completed", "completed", "failed", "running", "pending"]):
        make_job(state=state, app_id="video", job_type="scan", parent_id=parent.id, child_key=str(n))
    return parent


def test_how_far_the_children_are(video: BusClient, family: Job):
    found = video.ok("jobs.progress_summary", {"parent_id": str(family.id)})
    assert (found["total"], found["done"], found["pct"]) == (5, 3, 60.0)
    assert found["by_state"]["completed"] == 2
    assert sum(found["by_state"].values()) == 5
    by_filter = video.ok("jobs.progress_summary", {"filter": {"parent": str(family.id)}})
    assert by_filter == found
    assert video.ok("jobs.progress_summary", {"filter": {"user": "nobody"}})["pct"] is None


def test_the_summary_is_one_query_by_an_index(video: BusClient, family: Job, django_assert_num_queries):
    video.ok("jobs.progress_summary", {"parent_id": str(family.id)})
    with django_assert_num_queries(2):  # is it the app's; the counts
        video.ok("jobs.progress_summary", {"parent_id": str(family.id)})


def test_cancel_by_filter_counts_first_and_then_cancels(video: BusClient, family: Job):
    wanted = {"filter": {"parent": str(family.id)}}
    assert video.ok("jobs.cancel_by_filter", {**wanted, "dry_run": True})["count"] == 2
    assert video.ok("jobs.cancel_by_filter", wanted)["count"] == 2
    assert Job.objects.filter(state="cancelled").count() == 1
    assert Job.objects.get(state="running").cancel_reason == "user"
    event = AuditEvent.objects.get(action="jobs.cancel_by_filter")
    assert (event.actor_kind, event.app_id, event.after["changed"]) == ("bus", "video", 2)


def test_cleanup_removes_what_has_ended(video: BusClient, jobs: HandPlatform):
    for _ in range(3):
        video.ok("jobs.create", {"job_type": "scan"})
    jobs.drain()
    open_job = video.ok("jobs.create", {"job_type": "scan"})["id"]
    assert video.ok("jobs.cleanup", {"filter": {"types": ["scan"]}, "dry_run": True})["count"] == 3
    assert video.ok("jobs.cleanup", {"filter": {}})["count"] == 3
    assert [str(pk) for pk in Job.objects.values_list("pk", flat=True)] == [open_job]
    video.refused("INVALID", "jobs.cleanup", {"filter": {"states": ["running"]}})


def test_an_ended_job_needs_nobody_to_give_way(video: BusClient, make_job):
    ended = make_job(state="completed", app_id="video", job_type="scan")
    video.refused("STATE_CONFLICT", "jobs.preempt", {"by": str(ended.id)})


@pytest.mark.parametrize(
    "wanted",
    [
        {"data": {"1": 1}},
        {"data": {"a__b": 1}},
        {"ids": []},
        {"states": ["done"]},
        {"types": []},
        {"colour": 1},
    ],
)
def test_filters_that_are_none(video: BusClient, wanted):
    video.refused("INVALID", "jobs.query", {"filter": wanted})


def test_a_filter_by_data(video: BusClient):
    made = video.ok("jobs.create", {"job_type": "scan", "data": {"disc": 3}})
    video.ok("jobs.create", {"job_type": "scan", "data": {"disc": 4}})
    found = video.ok("jobs.query", {"filter": {"data": {"disc": 3}}})["jobs"]
    assert [job["id"] for job in found] == [made["id"]]
