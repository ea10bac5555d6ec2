"""Names are stored whole or refused, on every database alike."""

import pytest

from jobsplatform.testing.platform import HandPlatform
from tasks.handlers import job
from tasks.models import ExternalJob, Job
from tests.database.bus.client import BusClient

LENGTHS = (100, 191, 200, 255, 256, 300, 500, 5000)
LIMITS = {
    "queue": 100,
    "user_id": 100,
    "tenant_id": 100,
    "dedupe_key": 255,
    "idempotency_key": 255,
}
ODD = (
    "Überprüfung nachts",
    "夜間バックアップ",
    "🚀 nightly",
    "نسخة ليلية",
    "it's 100 %",
    'say "so"',
    "a%sb",
    "{x}",
)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("field", LIMITS)
def test_a_name_is_stored_whole_or_refused(video: BusClient, field, length):
    name = "n" * length
    answer = video.call("jobs.create", {"job_type": "scan", field: name})
    if length <= LIMITS[field]:
        assert answer.status == 200
        if field != "idempotency_key":
            assert getattr(Job.objects.get(), field) == name
    else:
        assert answer.code == "INVALID"
        assert not Job.objects.exists()


@pytest.mark.parametrize("length", LENGTHS)
def test_names_of_external_work(video: BusClient, length):
    name = "ü" * length
    for field, limit in {"job_id": 200, "title": 300, "message": 500}.items():
        answer = video.call("task_queue.upsert_job", {"job_id": "x", field: name})
        assert (answer.status == 200) == (length <= limit), (field, answer.body)
        if length <= limit:
            assert ExternalJob.objects.filter(**{field: name}).exists()


@pytest.mark.parametrize("length", LENGTHS)
def test_names_of_types(video: BusClient, jobs: HandPlatform, length):
    if length <= 200:
        job("t" * length, app_id="video")(lambda: None)
        video.ok("jobs.create", {"job_type": "t" * length})
        return
    video.refused("INVALID", "jobs.create", {"job_type": "t" * length})


@pytest.mark.parametrize("name", ODD)
def test_names_of_half_the_world(video: BusClient, jobs: HandPlatform, name):
    job(name, app_id="video")(lambda: None)
    made = video.ok("jobs.create", {"job_type": name, "user_id": name, "dedupe_key": name})
    (found,) = video.ok("jobs.query", {"filter": {"types": [name], "user": name, "dedupe_key": name}})["jobs"]
    assert (found["id"], found["job_type"], found["user_id"]) == (made["id"], name, name)
    video.ok("task_queue.upsert_job", {"job_id": name, "title": name})
    assert ExternalJob.objects.get().title == name
