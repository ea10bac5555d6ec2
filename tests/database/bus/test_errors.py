"""Whatever is wrong with a request is told in one shape, and nothing of it is stored."""

import json

import pytest
from django.db import OperationalError

from jobsplatform.kernel.errors import LockUnavailable
from jobsplatform.kernel.models import Tenant
from tasks.bus.api import METHODS
from tasks.bus.errors import CODES, refusal_of
from tasks.models import Job
from tests.database.bus.client import BusClient, MakeClient

CREATE = {"job_type": "scan"}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"nonsense",
        b'{"job_type": NaN}',
        b'{"job_type": Infinity}',
        b"\xff\xfe",
        b'{"job_type": "\\ud800"}',
        b"[" * 100_000,
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b"[]",
        b'"scan"',
        b"1",
        b"null",
        b'{"job_type": "scan"} {"job_type": "scan"}',
    ],
    ids=lambda raw: raw[:12].decode("latin-1"),
)
def test_what_is_no_json_object(video: BusClient, raw: bytes):
    video.refused("MALFORMED_JSON", "jobs.create", raw)
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    "name", ["jobs.craete", "jobs", "jobs/create", "jobs.create/", "x" * 5000, "ü", "jobs.create.x"]
)
def test_an_unknown_method(video: BusClient, name):
    error = video.refused("METHOD_UNKNOWN", name)
    assert len(error["message"]) < 300
    if name == "jobs.craete":
        assert "Did you mean 'jobs.create'?" in error["message"]


@pytest.mark.parametrize("verb", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
def test_another_http_method(video: BusClient, verb):
    answer = video.send(verb, "jobs.create", json.dumps(CREATE).encode())
    assert (answer.code, answer.headers["Allow"]) == ("METHOD_NOT_ALLOWED", "POST")
    assert not Job.objects.exists()
    if verb != "GET":
        assert video.send(verb, "openapi.json").headers["Allow"] == "GET"


@pytest.mark.parametrize(
    ("body", "field", "problem"),
    [
        ({}, "job_type", "missing"),
        ({**CREATE, "colour": "red"}, "colour", "unknown field"),
        ({"job_type": 5}, "job_type", "valid string"),
        ({"job_type": ""}, "job_type", "at least 1"),
        ({**CREATE, "params": []}, "params", "valid dictionary"),
        ({**CREATE, "params": None}, "params", "valid dictionary"),
        ({**CREATE, "max_attempts": "3"}, "max_attempts", "valid integer"),
        ({**CREATE, "max_attempts": True}, "max_attempts", "valid integer"),
        ({**CREATE, "max_attempts": 0}, "max_attempts", "greater than"),
        ({**CREATE, "queue": "no spaces"}, "queue", "pattern"),
        ({**CREATE, "parent_id": "7"}, "parent_id", "UUID"),
        ({**CREATE, "dedupe": "sometimes"}, "dedupe", "'alias'"),
        ({**CREATE, "user_id": "a\nb"}, "user_id", "pattern"),
        ({**CREATE, "run_after": "9999-12-31T23:59:59Z"}, "run_after", "years"),
    ],
)
def test_wrong_fields_are_named(video: BusClient, body, field, problem):
    error = video.refused("INVALID", "jobs.create", body)
    (fault,) = error["details"]["fields"]
    assert (fault["field"], problem in fault["problem"]) == (field, True), fault
    assert field in error["message"]
    assert not Job.objects.exists()


def test_a_filter_compares_a_few_keys_of_the_data(video: BusClient):
    data = {f"k{n}": n for n in range(20)}
    assert video.ok("jobs.query", {"filter": {"data": data}})["jobs"] == []
    video.refused("INVALID", "jobs.query", {"filter": {"data": {**data, "k20": 20}}})


def test_every_wrong_field_is_told_up_to_a_limit(video: BusClient):
    body = {"jobs": [{"job_type": 5}] * 100}
    fields = video.refused("INVALID", "jobs.create_many", body)["details"]["fields"]
    assert [each["field"] for each in fields] == [f"jobs[{n}].job_type" for n in range(20)]


def test_params_that_do_not_fit_and_that_cannot_be_stored(video: BusClient):
    for params in ({"depth": "deep"}, {"depht": 1}, {"depth": 2**70}, {"folder": "a\x00b"}):
        video.refused("PARAMS_INVALID", "jobs.create", {"job_type": "scan", "params": params})
    for data in ({"x": "a\x00b"}, {"x": 2**70}):
        video.refused("PARAMS_INVALID", "jobs.create", {"job_type": "scan", "data": data})


def test_what_is_too_large_is_refused_before_it_is_parsed(bus_client: MakeClient, scan):
    small = bus_client("video", quotas={"payload_bytes": 1000})
    assert small.refused("TOO_LARGE", "jobs.create", b"{" * 1001)["details"] == {"limit": 1000}
    small.refused("MALFORMED_JSON", "jobs.create", b"{" * 1000)


def test_params_above_their_limit(video: BusClient):
    video.refused("TOO_LARGE", "jobs.create", {"job_type": "scan", "params": {"folder": "x" * 300_000}})
    assert not Job.objects.exists()


def test_a_tenant_that_is_archived(video: BusClient):
    Tenant.objects.create(tenant_id="old", state="archived")
    video.refused("TENANT_STATE_FORBIDDEN", "jobs.create", {"job_type": "scan", "tenant_id": "old"})
    Tenant.objects.create(tenant_id="off", state="suspended")
    assert video.ok("jobs.create", {"job_type": "scan", "tenant_id": "off"})["job"]["status"] == "pending"


@pytest.mark.parametrize("error", [OperationalError("gone"), LockUnavailable("gone")])
def test_a_store_that_does_not_answer(video: BusClient, monkeypatch, error):
    def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr("tasks.bus.jobs.own", failing)
    answer = video.call("jobs.query")
    assert (answer.code, answer.headers["Retry-After"]) == ("UNAVAILABLE", "2")
    assert "gone" not in str(answer.body)


def test_an_error_that_nobody_foresaw_tells_nothing_of_itself():
    refusal = refusal_of(RuntimeError("a password"))
    assert (refusal.code, "password" in str(refusal.body)) == ("INTERNAL", False)


def test_every_answer_has_the_id_of_its_request_and_is_not_kept(video: BusClient):
    for method in ("jobs.query", "jobs.nothing"):
        headers = video.call(method, {}, X_Request_ID="r-1").headers
        assert (headers["X-Request-ID"], headers["Cache-Control"]) == ("r-1", "no-store")


def test_schema_and_page_are_for_tokens_and_staff(video: BusClient, admin_client, client, django_user_model):
    for page in ("openapi.json", "docs"):
        assert client.get(f"/bus/v1/{page}").status_code == 401
        assert client.get(f"/bus/v1/{page}", headers=video.headers).status_code == 200
        assert admin_client.get(f"/bus/v1/{page}").status_code == 200
        client.force_login(django_user_model.objects.create_user(f"guest {page}"))
        assert client.get(f"/bus/v1/{page}").status_code == 401
        client.logout()
    assert (
        b"https://" not in client.get("/bus/v1/docs", headers=video.headers).content
    )  # nothing from elsewhere
    document = client.get("/bus/v1/openapi.json", headers=video.headers).json()
    assert document["openapi"].startswith("3.1")
    assert {address.removeprefix("/bus/v1/") for address in document["paths"]} == set(METHODS)


def test_a_session_is_no_token(video: BusClient, admin_client):
    answer = admin_client.post("/bus/v1/jobs.create", json.dumps(CREATE), "application/json")
    assert answer.status_code == 401
    assert not Job.objects.exists()


def test_each_code_has_its_own_name_and_a_status():
    assert all(400 <= code.status < 600 and code.when for code in CODES.values())
