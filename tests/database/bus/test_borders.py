"""One app never sees, touches or learns of another's jobs."""

import pytest

from jobsplatform.kernel.models import AuditEvent
from tasks.bus.api import METHODS
from tasks.models import ExternalJob, Job
from tests.database.bus.client import BusClient

NOBODY = "01890a5d-ac96-774b-bcce-b302099a8057"

BY_ID = {
    "jobs.query": {"id": "@"},
    "jobs.cancel": {"id": "@", "cascade": True},
    "jobs.progress_summary": {"parent_id": "@"},
    "jobs.preempt": {"by": "@"},
    "jobs.create": {"job_type": "scan", "parent_id": "@", "child_key": "x"},
    "jobs.create_many": {"jobs": [{"job_type": "scan", "parent_id": "@"}]},
    "jobs.update_status": {"id": "@", "lease": 1, "ending": {"kind": "completed", "result": 1}},
    "jobs.update_progress": {"id": "@", "lease": 1, "done": 90, "total": 100},
    "jobs.checkpoint": {"id": "@", "lease": 1, "cursor": 1},
    "jobs.merge_data": {"id": "@", "lease": 1, "data": {"x": 1}},
    "jobs.batch_children": {"id": "@", "lease": 1, "children": [{"job_type": "scan", "child_key": "a"}]},
}
BY_FILTER = {
    "jobs.query": {"filter": {}},
    "jobs.progress_summary": {"filter": {}},
    "jobs.cancel_by_filter": {"filter": {}},
    "jobs.cleanup": {"filter": {}},
}
OF_ITS_OWN = {
    "events.emit",
    "task_queue.upsert_job",
    "task_queue.update_progress",
    "task_queue.complete_job",
    "jobs.claim",
    "jobs.heartbeat",
    "jobs.register_handler",
    "jobs.unregister_handler",
}


def filled(body, job_id: str):
    if isinstance(body, dict):
        return {name: filled(value, job_id) for name, value in body.items()}
    if isinstance(body, list):
        return [filled(value, job_id) for value in body]
    return job_id if body == "@" else body


def snapshot() -> list[dict]:
    return list(Job.objects.filter(app_id="music").order_by("id").values())


@pytest.fixture
def theirs(music: BusClient, make_job) -> Job:
    """A running job of the app ``music``, and others around it."""
    make_job(state="completed", app_id="music", job_type="scan")
    make_job(state="pending", app_id="music", job_type="scan", dedupe_key="shared")
    return make_job(state="running", app_id="music", job_type="scan", lease=1)


def test_every_method_is_looked_at_here():
    assert set(METHODS) == {*BY_ID, *BY_FILTER, *OF_ITS_OWN}


@pytest.mark.parametrize("method", BY_ID)
def test_the_id_of_anothers_job_is_as_no_id(video: BusClient, theirs: Job, method):
    before = snapshot()
    other = video.call(method, filled(BY_ID[method], str(theirs.id)))
    none = video.call(method, filled(BY_ID[method], NOBODY))
    assert (other.status, other.code) == (404, "NOT_FOUND")
    assert (other.status, other.body) == (none.status, none.body)
    assert snapshot() == before


@pytest.mark.parametrize("method", BY_FILTER)
@pytest.mark.parametrize(
    "more",
    [{}, {"types": ["scan"]}, {"ids": ["@"]}, {"dedupe_key": "shared"}, {"tenant_id": ""}],
    ids=str,
)
def test_filters_see_an_apps_own_jobs_alone(video: BusClient, theirs: Job, method, more):
    before = snapshot()
    body = video.ok(method, {"filter": filled(more, str(theirs.id))})
    assert body.get("count", 0) == 0
    assert body.get("jobs", []) == []
    assert body.get("total", 0) == 0
    assert snapshot() == before


def test_several_ids_give_an_apps_own_jobs_alone(video: BusClient, theirs: Job):
    mine = video.ok("jobs.create", {"job_type": "scan"})["id"]
    found = video.ok("jobs.query", {"ids": [mine, str(theirs.id)]})["jobs"]
    assert [job["id"] for job in found] == [mine]


def test_a_page_does_not_begin_at_anothers_job(video: BusClient, theirs: Job):
    assert video.ok("jobs.query", {"after": str(theirs.id)})["jobs"] == []


def test_keys_are_those_of_the_app(video: BusClient, music: BusClient, theirs: Job):
    first = music.ok("jobs.create", {"job_type": "scan", "idempotency_key": "same"})
    mine = video.ok("jobs.create", {"job_type": "scan", "idempotency_key": "same", "dedupe_key": "shared"})
    assert mine["status"] == "created"
    assert mine["id"] != first["id"]


def test_a_type_with_a_colon_reaches_nobody_else(video: BusClient, theirs: Job):
    video.refused("INVALID", "jobs.query", {"filter": {"types": ["music:scan"]}})
    video.refused("INVALID", "jobs.create", {"job_type": "music:scan"})


def test_external_work_is_known_to_its_app_alone(video: BusClient, music: BusClient):
    music.ok("task_queue.upsert_job", {"job_id": "7", "title": "theirs"})
    other = video.call("task_queue.update_progress", {"job_id": "7", "progress": 50})
    none = video.call("task_queue.update_progress", {"job_id": "none", "progress": 50})
    assert (other.status, other.body) == (none.status, none.body) == (404, other.body)
    video.refused("NOT_FOUND", "task_queue.complete_job", {"job_id": "7"})
    video.ok("task_queue.upsert_job", {"job_id": "7", "title": "mine"})
    assert dict(ExternalJob.objects.values_list("app_id", "title")) == {"music": "theirs", "video": "mine"}


def test_preempt_asks_older_jobs_of_the_app_alone(video: BusClient, theirs: Job, make_job):
    mine = make_job(state="running", app_id="video", job_type="scan")
    newer = video.ok("jobs.create", {"job_type": "scan"})["id"]
    assert video.ok("jobs.preempt", {"by": newer})["preempted"] == [str(mine.id)]
    assert video.ok("jobs.preempt", {"by": newer})["preempted"] == []
    assert Job.objects.get(id=mine.id).cancel_reason == "preempted"
    assert Job.objects.get(id=theirs.id).cancel_reason == ""
    assert AuditEvent.objects.get(action="job.preempt").app_id == "video"
