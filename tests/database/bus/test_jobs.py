"""``jobs.create``, ``create_many``, ``query`` and ``cancel``."""

from datetime import timedelta

import pytest
from django.db import IntegrityError

from jobsplatform.kernel import clock
from jobsplatform.kernel.models import AuditEvent
from jobsplatform.testing.platform import HandPlatform
from tasks import submit
from tasks.models import Job
from tasks.requests import JobRequest
from tasks.submit import SubmitResult
from tests.database.bus.client import BusClient


def test_a_job_is_made_for_the_app_of_the_token(video: BusClient, jobs: HandPlatform):
    made = video.ok("jobs.create", {"job_type": "scan", "params": {"folder": "/films"}, "data": {"seen": 1}})
    assert made["status"] == "created"
    assert made["job"]["app_id"] == "video"
    assert made["job"]["params"] == {"folder": "/films", "depth": 1}
    assert made["job"]["data"] == {"seen": 1}
    jobs.drain()
    (found,) = video.ok("jobs.query", {"id": made["id"]})["jobs"]
    assert (found["status"], found["result"]) == ("completed", {"folder": "/films", "depth": 1})


def test_the_creation_is_in_the_audit_trail(video: BusClient):
    made = video.ok("jobs.create", {"job_type": "scan"})
    event = AuditEvent.objects.get(action="job.create", target_id=made["id"])
    assert (event.actor_kind, event.app_id) == ("bus", "video")
    assert str(video.token.id) in event.actor
    assert video.text not in str(event.__dict__)


@pytest.mark.postgres
def test_a_job_and_its_record_are_one_statement(video: BusClient, scan, django_assert_num_queries):
    video.ok("jobs.create", {"job_type": "scan"})
    with django_assert_num_queries(1):
        made = video.ok("jobs.create", {"job_type": "scan"})
    assert Job.objects.get(id=made["id"]).state == "pending"
    assert AuditEvent.objects.get(target_id=made["id"]).after == {"job_type": "scan", "status": "created"}


@pytest.mark.django_db(transaction=True)
def test_without_its_record_there_is_no_job(scan):
    draft = JobRequest("scan", {}, app_id="video")

    def of_nothing(made: SubmitResult) -> AuditEvent:
        return AuditEvent(action="job.create", actor_kind=None)

    with pytest.raises(IntegrityError):
        submit.submit_shown(draft, clock.now(), of_nothing)
    assert not Job.objects.exists() and not AuditEvent.objects.exists()


def test_many_are_made_at_once_and_in_order(video: BusClient):
    wishes = [{"job_type": "scan", "params": {"depth": n}, "data": {"n": n}} for n in range(5)]
    results = video.ok("jobs.create_many", {"jobs": wishes})["results"]
    assert [Job.objects.get(id=each["id"]).params["depth"] for each in results] == list(range(5))
    assert [Job.objects.get(id=each["id"]).data for each in results] == [{"n": n} for n in range(5)]
    assert AuditEvent.objects.get(action="jobs.create_many").after["types"] == {"scan": 5}


def test_of_many_all_or_none_are_made(video: BusClient):
    wishes = [{"job_type": "scan"}, {"job_type": "scan", "params": {"depth": "deep"}}]
    video.refused("PARAMS_INVALID", "jobs.create_many", {"jobs": wishes})
    assert not Job.objects.exists()
    assert not AuditEvent.objects.filter(action="jobs.create_many").exists()


def test_a_dedupe_key_gives_an_alias_and_an_idempotency_key_the_same_job(video: BusClient):
    first = video.ok("jobs.create", {"job_type": "scan", "dedupe_key": "k", "idempotency_key": "i"})
    second = video.ok("jobs.create", {"job_type": "scan", "dedupe_key": "k"})
    assert (second["status"], second["alias_job_id"]) == ("alias", first["id"])
    again = video.ok("jobs.create", {"job_type": "scan", "dedupe_key": "k", "idempotency_key": "i"})
    assert (again["status"], again["id"]) == ("replayed", first["id"])
    video.refused(
        "IDEMPOTENCY_CONFLICT",
        "jobs.create",
        {"job_type": "scan", "params": {"depth": 2}, "idempotency_key": "i"},
    )
    video.refused("JOB_DUPLICATE", "jobs.create", {"job_type": "scan", "dedupe_key": "k", "dedupe": "reject"})


def test_children_belong_to_their_parent_and_its_tenant(video: BusClient, make_job):
    parent = make_job(state="running", app_id="video", job_type="scan", tenant_id="acme", user_id="7")
    made = video.ok("jobs.create", {"job_type": "scan", "parent_id": str(parent.id), "child_key": "a"})
    assert made["job"]["parent_id"] == str(parent.id)
    assert (made["job"]["tenant_id"], made["job"]["user_id"]) == ("acme", "7")
    again = video.ok("jobs.create", {"job_type": "scan", "parent_id": str(parent.id), "child_key": "a"})
    assert (again["status"], again["id"]) == ("replayed", made["id"])


def test_an_ended_parent_takes_no_children(video: BusClient, make_job):
    parent = make_job(state="completed", app_id="video", job_type="scan")
    video.refused("STATE_CONFLICT", "jobs.create", {"job_type": "scan", "parent_id": str(parent.id)})


def test_the_context_of_the_request_is_that_of_the_job(video: BusClient):
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    made = video.ok(
        "jobs.create",
        {"job_type": "scan", "tenant_id": "acme", "user_id": "u1"},
        traceparent=f"00-{trace}-00f067aa0ba902b7-01",
        X_Request_ID="from-the-sidecar",
    )
    job = Job.objects.get(id=made["id"])
    assert (job.tenant_id, job.user_id, job.request_id) == ("acme", "u1", "from-the-sidecar")
    assert job.traceparent[3:35] == trace
    assert AuditEvent.objects.get(action="job.create").tenant_id == "acme"


@pytest.mark.parametrize("priority", [5000, "URGENT", -1, True, 1.5, "high"])
def test_priorities_that_are_not_for_the_bus(video: BusClient, priority):
    error = video.refused("INVALID", "jobs.create", {"job_type": "scan", "priority": priority})
    assert error["details"]["fields"][0]["field"].startswith("priority")


@pytest.mark.parametrize("value", ["soon", "2026-01-01T00:00:00", 5, "2026-13-01T00:00:00Z"])
def test_instants_have_a_zone(video: BusClient, value):
    error = video.refused("INVALID", "jobs.create", {"job_type": "scan", "run_after": value})
    assert error["details"]["fields"][0]["field"] == "run_after"


def test_an_unknown_type_is_named_with_the_nearest_of_the_app(video: BusClient, music: BusClient):
    error = video.refused("UNKNOWN_HANDLER", "jobs.create", {"job_type": "scna"})
    assert "'scan'" in error["message"]
    assert "music" not in error["message"]


def test_pages_of_jobs_neither_skip_nor_repeat(video: BusClient):
    ids = [video.ok("jobs.create", {"job_type": "scan"})["id"] for _ in range(5)]
    seen, after = [], None
    while True:
        page = video.ok("jobs.query", {"filter": {"types": ["scan"]}, "limit": 2, "after": after})
        seen += [job["id"] for job in page["jobs"]]
        after = page["next"]
        if after is None:
            break
    assert seen == ids[::-1]


def test_jobs_by_ids_leaves_out_what_is_not_there(video: BusClient):
    made = video.ok("jobs.create", {"job_type": "scan"})
    other = "01890a5d-ac96-774b-bcce-b302099a8057"
    found = video.ok("jobs.query", {"ids": [made["id"], other]})["jobs"]
    assert [job["id"] for job in found] == [made["id"]]
    video.refused("NOT_FOUND", "jobs.query", {"id": other})
    video.refused("INVALID", "jobs.query", {"id": other, "ids": [other]})


def test_cancel_ends_what_waits_and_asks_what_runs(video: BusClient, make_job, jobs: HandPlatform):
    waiting = video.ok("jobs.create", {"job_type": "scan"})["id"]
    answer = video.ok("jobs.cancel", {"id": waiting})
    assert (answer["how"], answer["job"]["status"]) == ("cancelled", "cancelled")
    running = make_job(state="running", app_id="video", job_type="scan")
    assert video.ok("jobs.cancel", {"id": str(running.id)})["how"] == "requested"
    assert video.ok("jobs.cancel", {"id": str(running.id)})["how"] == "already_requested"
    assert video.ok("jobs.cancel", {"id": waiting})["how"] == "already_ended"
    assert AuditEvent.objects.filter(action="job.cancel", actor_kind="bus").count() == 2


def test_whoever_polls_sees_states_in_their_order_and_never_none(video: BusClient, jobs: HandPlatform):
    job_id = video.ok("jobs.create", {"job_type": "scan"})["id"]
    seen = []

    def poll() -> None:
        (found,) = video.ok("jobs.query", {"id": job_id})["jobs"]
        assert found["progress"]["label"] == ""
        seen.append(found["status"])

    poll()
    worker = jobs.worker
    worker.dispatch()
    poll()
    worker.run()
    poll()
    poll()
    assert seen == ["pending", "dispatched", "completed", "completed"]
    assert found_pct(video, job_id) == 100.0


def found_pct(client: BusClient, job_id: str) -> float:
    return client.ok("jobs.query", {"id": job_id})["jobs"][0]["progress"]["pct"]


def test_an_alias_shows_its_leader(video: BusClient, jobs: HandPlatform):
    video.ok("jobs.create", {"job_type": "scan", "dedupe_key": "k", "params": {"depth": 7}})
    alias = video.ok("jobs.create", {"job_type": "scan", "dedupe_key": "k"})
    jobs.drain()
    (found,) = video.ok("jobs.query", {"id": alias["id"]})["jobs"]
    assert (found["status"], found["result"]["depth"]) == ("completed", 7)


def test_a_job_for_later_waits(video: BusClient):
    later = clock.now() + timedelta(hours=1)
    made = video.ok("jobs.create", {"job_type": "scan", "run_after": later.isoformat()})
    assert made["job"]["run_after"] == later.isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize("few", [2, 50])
@pytest.mark.parametrize("by", ["filter", "ids"])
def test_a_page_of_large_jobs_is_short_and_goes_on(video: BusClient, monkeypatch, few: int, by: str):
    wishes = [{"job_type": "scan", "data": {"text": "x" * 1000}} for _ in range(7)]
    ids = [each["id"] for each in video.ok("jobs.create_many", {"jobs": wishes})["results"]]
    monkeypatch.setattr("tasks.bus.jobs.FEW", few)
    monkeypatch.setattr("tasks.bus.jobs.MOST_ANSWER_BYTES", 4000)
    wanted = {"ids": ids} if by == "ids" else {"filter": {"types": ["scan"]}, "limit": 6}
    sizes, seen, after = [], [], {}
    while True:
        page = video.ok("jobs.query", {**wanted, **after})
        sizes.append(len(page["jobs"]))
        seen += [each["id"] for each in page["jobs"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert seen == sorted(ids, reverse=True)
    assert sizes == [3, 3, 1]
