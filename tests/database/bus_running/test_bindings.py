"""Binding types: rows that every process knows, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobsplatform.kernel import clock, processes
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.errors import InvalidInput
from jobsplatform.kernel.models import AuditEvent
from tasks import registry
from tasks.bus import bindings
from tasks.handlers import job
from tasks.models import HandlerBinding, Job
from tasks.requests import JobRequest
from tasks.submit import submit
from tests.database.bus.client import MakeClient
from tests.database.bus_running.conftest import Side

pytestmark = pytest.mark.django_db

SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "pattern": "^[A-Z]"},
        "year": {"type": "integer", "default": 2000},
    },
    "required": ["title"],
    "additionalProperties": False,
}


def test_a_bound_type_is_known_with_what_it_declares(side: Side):
    handler = side.bind("tagged", priority="user_action", max_attempts=7, timeout=60.0, public_params=["a"])
    assert (handler["queue"], handler["service"], handler["method"]) == ("bus.video", "media", "tagged")
    spec = registry.get("video", "tagged").spec
    assert (spec.priority, spec.max_attempts, spec.timeout) == (1000, 7, 60.0)
    assert Job.objects.get(id=side.create("tagged")).max_attempts == 7


def test_params_are_held_against_the_schema_and_completed(side: Side):
    side.bind("film", params_schema=SCHEMA)
    assert Job.objects.get(id=side.create("film", {"title": "Dune"})).params == {
        "title": "Dune",
        "year": 2000,
    }
    for params, told in (
        ({}, '"title" is a required property'),
        ({"title": "dune"}, "title"),
        ({"title": "Dune", "year": True}, "year"),
        ({"title": "Dune", "titel": "x"}, "unknown param 'titel'. Did you mean 'title'?"),
    ):
        error = side.client.refused("PARAMS_INVALID", "jobs.create", {"job_type": "film", "params": params})
        assert told.lower() in error["message"].lower()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": "objekt"},
        {"$ref": "https://elsewhere.example/schema.json"},
        {"properties": {"a": {"pattern": "(?<=a)b"}}},
        {"properties": {"a": {"description": "x" * 70_000}}},
    ],
)
def test_an_unsound_schema_is_refused(side: Side, schema: dict[str, Any]):
    body = {"job_type": "bad", "service": "media", "spec": {"params_schema": schema}}
    side.client.refused("INVALID", "jobs.register_handler", body)
    assert registry.find("video", "bad") is None


@pytest.mark.parametrize(
    "fields",
    [
        {"spec": {"backoff": [1e300]}},
        {"spec": {"backoff": []}},
        {"spec": {"backoff": [1.0] * 1001}},
        {"spec": {"description": "a\x00b"}},
        {"spec": {"confirm": "a\x00b"}},
        {"spec": {"params_schema": {"title": "a\x00b"}}},
        {"spec": {"params_schema": {"maximum": 2**70}}},
        {"transport": "http", "url": "http://a\x00b/"},
    ],
    ids=str,
)
def test_what_cannot_be_kept_is_refused(side: Side, fields: dict[str, Any]):
    body = {"job_type": "bad", "service": "media", **fields}
    side.client.refused("INVALID", "jobs.register_handler", body)
    assert registry.find("video", "bad") is None


def test_a_pattern_that_would_take_for_ever_does_not(side: Side):
    side.bind("regex", params_schema={"properties": {"a": {"pattern": "^(a+)+$"}}})
    body = {"job_type": "regex", "params": {"a": "a" * 50_000 + "b"}}
    side.client.refused("PARAMS_INVALID", "jobs.create", body)


@pytest.mark.parametrize(
    "spec",
    [
        {"priority": 5000},
        {"queue": "bus.music"},
        {"queue": "bus.video.more"},
        {"queue": "default"},
        {"timeout": 5.0, "soft_timeout": 9.0},
        {"exclusive": True, "max_concurrency": 3},
        {"concurrency_key": "{nope}", "params_schema": SCHEMA},
        {"colour": "red"},
        {"priority": "urgent"},
    ],
)
def test_a_declaration_that_cannot_be_meant_is_refused(side: Side, spec: dict[str, Any]):
    body = {"job_type": "bad", "service": "media", "spec": spec}
    side.client.refused("INVALID", "jobs.register_handler", body)


def test_its_own_queue_may_be_named_and_jobs_of_the_type_wait_in_no_other(side: Side):
    assert side.bind("tagged", queue="bus.video")["queue"] == "bus.video"
    refused = side.client.refused("INVALID", "jobs.create", {"job_type": "tagged", "queue": "default"})
    assert "wait in 'bus.video' alone" in refused["message"]
    with pytest.raises(InvalidInput, match=r"wait in 'bus.video' alone"):
        submit(JobRequest("tagged", app_id="video", queue="bus.music"))
    job_id = side.create("tagged", queue="bus.video")
    assert side.claim("tagged")[0]["job"]["id"] == job_id


def test_a_sidecar_adds_no_slots_to_queues_that_are_not_its_apps(side: Side):
    side.bind("tagged")
    side.claim("scrape", "tagged", capacity=50)
    assert [each.queues for each in processes.slots(clock.now(), 60)] == [["bus.video"]]


def test_a_second_registration_changes_the_first_and_the_same_changes_nothing(side: Side):
    first = side.bind("tagged", max_attempts=2)
    assert side.bind("tagged", max_attempts=2)["revision"] == first["revision"]
    assert side.bind("tagged", max_attempts=3)["revision"] == first["revision"] + 1
    assert registry.get("video", "tagged").spec.max_attempts == 3
    assert AuditEvent.objects.filter(action="binding.register", target_id="video:tagged").count() == 2


def test_what_the_platform_declares_itself_cannot_be_bound(side: Side):
    @job("ours", app_id="video")
    def ours() -> None: ...

    side.client.refused("STATE_CONFLICT", "jobs.register_handler", {"job_type": "ours", "service": "media"})


def test_an_unbound_type_is_unknown_and_its_jobs_wait(side: Side, bus_client: MakeClient):
    job_id = side.create()
    bus_client("music").refused("UNKNOWN_HANDLER", "jobs.unregister_handler", {"job_type": "scrape"})
    side.client.ok("jobs.unregister_handler", {"job_type": "scrape"})
    side.client.refused("UNKNOWN_HANDLER", "jobs.create", {"job_type": "scrape"})
    side.client.refused(
        "UNKNOWN_HANDLER", "jobs.claim", {"runner_id": side.runner_id, "job_types": ["scrape"]}
    )
    side.bind()
    assert side.claim()[0]["job"]["id"] == job_id


def test_another_process_hears_of_a_change_when_it_asks(side: Side):
    row = HandlerBinding.objects.get(app_id="video", job_type="scrape")
    row.pk, row.job_type, row.revision = None, "later", 1
    row.id = HandlerBinding().id
    row.save(force_insert=True)
    # Nobody told this process: it looks when a name is asked for that it does not know.
    assert registry.get("video", "later").spec.job_type == "later"


def test_a_row_spoilt_by_hand_is_left_out_and_does_no_harm(side: Side):
    HandlerBinding.objects.filter(job_type="scrape").update(spec={"queue": "no queue!"}, revision=9)
    bindings.refresh()
    assert registry.find("video", "scrape") is None


def test_a_binding_that_is_switched_off_keeps_its_jobs(side: Side):
    job_id = side.create()
    row = HandlerBinding.objects.get(job_type="scrape")
    actor = Actor("op", "user")
    bindings.set_enabled(row.pk, False, actor=actor, now=clock.now())
    assert side.claim() == []
    bindings.set_enabled(row.pk, True, actor=actor, now=clock.now())
    assert side.claim()[0]["job"]["id"] == job_id


def test_an_approval_lasts_as_long_as_the_url(side: Side):
    body = {"job_type": "called", "service": "media", "transport": "http", "url": "https://a.example/run"}
    answer = side.client.ok("jobs.register_handler", body)
    assert not answer["handler"]["approved"]
    assert len(answer["signing_secret"]) == 64
    row = HandlerBinding.objects.get(job_type="called")
    bindings.approve(row.pk, actor=Actor("op", "user"), now=clock.now())
    assert side.client.ok("jobs.register_handler", body)["handler"]["approved"]
    moved = {**body, "url": "https://b.example/run"}
    assert not side.client.ok("jobs.register_handler", moved)["handler"]["approved"]


def test_each_transport_takes_what_belongs_to_it(side: Side):
    base = {"job_type": "called", "service": "media"}
    for more in ({"transport": "http"}, {"url": "https://a.example/"}, {"transport": "celery"}):
        side.client.refused("INVALID", "jobs.register_handler", {**base, **more})
    side.client.ok("jobs.register_handler", {**base, "transport": "http", "url": "https://a.example/"})
    body = {"runner_id": side.runner_id, "job_types": ["called"]}
    side.client.refused("INVALID", "jobs.claim", body)


def test_a_type_that_another_process_has_just_bound_is_known(side: Side):
    def behind() -> None:
        """This process has looked in this moment, before the other one bound the type."""
        registry.find("video", "nothing")
        registry.bind({}, "an earlier mark")

    side.bind("fresh")
    behind()
    job_id = side.create("fresh")
    behind()
    assert side.claim("fresh")[0]["job"]["id"] == job_id
    side.client.refused("UNKNOWN_HANDLER", "jobs.create", {"job_type": "nothing"})


def test_a_type_that_another_process_has_just_bound_otherwise_is_claimed(side: Side):
    known, mark = registry.bound(), registry.bound_mark()
    (proxy,) = known.values()
    job_id = side.create()
    registry.bind({proxy.spec.key: replace(proxy, transport="http")}, (mark, "earlier"))
    assert side.claim()[0]["job"]["id"] == job_id
