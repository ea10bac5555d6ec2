"""The SDK and the platform of this checkout speak of the same methods, fields, errors and endings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from jobsplatform_sdk import errors, outcomes, services, shapes, signing
from jobsplatform_sdk.calls import events, jobs, running, task_queue
from jobsplatform_sdk.calls.call import Call
from jobsplatform_sdk.endings import read_answer, read_error
from jobsplatform_sdk.handlers import JobOptions
from tasks import outcomes as inside
from tasks.bus import signing as signing_there
from tasks.bus.api import METHODS
from tasks.bus.errors import CODES
from tasks.bus.job_schemas import CreateIn, Filter
from tasks.bus.running_schemas import SpecIn
from tasks.bus.schemas import JobOutput

ID = str(uuid4())
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SPEC: JobOptions = {
    "queue": "bus.video",
    "priority": "NORMAL",
    "max_attempts": 3,
    "backoff": [1.0, 2.0],
    "timeout": 60.0,
    "soft_timeout": 30.0,
    "cancel_grace": 5.0,
    "exclusive": True,
    "max_concurrency": 1,
    "concurrency_key": "{show}",
    "concurrency_limit": 2,
    "dedupe_key": "{show}",
    "dedupe": "alias",
    "preemptible": True,
    "on_interrupt": "resume",
    "retention": 3600.0,
    "public_params": ["show"],
    "description": "x",
    "confirm": "y",
    "crash_budget": 3,
    "params_schema": {"type": "object"},
}
NEW: dict[str, Any] = {
    "data": {"a": 1},
    "queue": "bus.video",
    "priority": 5,
    "run_after": NOW,
    "latest_start_at": NOW,
    "user_id": "7",
    "tenant_id": "t",
    "dedupe_key": "k",
    "dedupe": "alias",
    "idempotency_key": "i",
    "max_attempts": 2,
    "parent_id": ID,
    "child_key": "c",
}
WHERE: jobs.Filter = {
    "ids": [ID],
    "types": ["a"],
    "states": ["failed"],
    "created_after": NOW,
    "data": {"a": 1},
}
CALLS: list[Call[Any]] = [
    jobs.create("tv_scrape", {"show": 7}, **NEW),
    jobs.create("tv_scrape"),
    jobs.create_many([{"job_type": "a", "params": {}, "run_after": NOW}]),
    jobs.get(ID),
    jobs.query(WHERE, after=ID, limit=5),
    jobs.query(ids=[ID]),
    jobs.cancel(ID, cascade=True),
    jobs.cancel_by_filter(WHERE, dry_run=True),
    jobs.cleanup(WHERE),
    jobs.progress_summary(parent_id=ID),
    jobs.progress_summary(filter=WHERE),
    jobs.preempt(ID, job_types=["a"]),
    jobs.register_handler("a", service="s", method="m", spec={**SPEC, "continuation": True}),
    jobs.register_handler("a", service="s", transport="http", url="https://x.test/y"),
    jobs.unregister_handler("a"),
    running.claim(ID, ["a"], limit=2, capacity=4, wait_seconds=5, name="n", version="1"),
    running.heartbeat(ID, [(ID, 1)], stopping=True),
    running.update_progress(ID, 1, 1, 2, "x"),
    running.update_progress(ID, 1, 1),
    running.checkpoint(ID, 1, {"page": 1}),
    running.merge_data(ID, 1, {"a": 1}),
    running.batch_children(ID, 1, [{"job_type": "a", "params": {}, "child_key": "k"}], ignore_failures=True),
    events.emit("7", "folder.changed", {"a": 1}, scope="s"),
    task_queue.upsert_job(
        "1", title="t", status="running", progress=5, eta_seconds=3, message="m", user_id="7"
    ),
    task_queue.update_progress("1", 50, eta_seconds=3, message="m"),
    task_queue.complete_job("1", status="failed", message="m"),
]
ENDS: list[Any] = [
    None,
    outcomes.Outcome({"a": 1}, 3, {"b": 2}),
    outcomes.Fail("x\ny", retryable=False),
    outcomes.Retry(5, "busy"),
    outcomes.Retry(),
    outcomes.Snooze(5, "a\nb"),
    outcomes.Discard("gone"),
    outcomes.Pause("disk", retryable=True),
    outcomes.Deferred(60),
    outcomes.JobCancelled("user"),
    outcomes.JobCancelled("shutdown"),
    ValueError("x" * 100_000),
]


def taken(call: Call[Any]) -> Mapping[str, Any]:
    """The body as the platform reads it; raises ValidationError."""
    return METHODS[call.method].takes.model_validate(dict(call.body), strict=True).model_dump()


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.method)
def test_every_body_is_one_that_the_platform_takes(call: Call[Any]) -> None:
    assert taken(call)


@pytest.mark.parametrize("end", ENDS, ids=lambda end: type(end).__name__)
def test_every_ending_is_one_that_the_platform_takes(end: Any) -> None:
    ending = read_error(end) if isinstance(end, BaseException) else read_answer(end)
    assert ending.wire is not None
    assert taken(running.update_status(ID, 1, ending.wire))


def test_every_method_is_there_under_its_own_name() -> None:
    mine = {f"jobs.{name}" for name in vars(services.JobMethods) if not name.startswith("_")} - {"jobs.get"}
    mine |= {f"events.{name}" for name in vars(services.EventMethods) if not name.startswith("_")}
    mine |= {f"task_queue.{name}" for name in vars(services.TaskQueueMethods) if not name.startswith("_")}
    assert mine == set(METHODS)
    assert {call.method for call in CALLS} | {"jobs.update_status"} == set(METHODS)


def test_every_field_can_be_said() -> None:
    assert set(jobs.NewJob.__annotations__) == set(CreateIn.model_fields)
    assert set(NEW) | {"job_type", "params"} == set(CreateIn.model_fields)
    assert set(jobs.Filter.__annotations__) == set(Filter.model_fields)
    assert set(JobOptions.__annotations__) | {"continuation"} == set(SpecIn.model_fields)
    assert set(SPEC) == set(JobOptions.__annotations__)


def test_every_field_of_a_job_is_read() -> None:
    assert {field.name for field in fields(shapes.Job)} - {"raw"} == set(JobOutput.model_fields)


def test_every_code_has_a_class_and_no_other() -> None:
    assert set(errors.BY_CODE) - {"UNREACHABLE", "NO_ANSWER"} == set(CODES)


def test_endings_have_the_same_names_as_inside() -> None:
    names = {
        name
        for name, value in vars(outcomes).items()
        if isinstance(value, type) and value.__module__ == outcomes.__name__
    }
    assert names <= set(vars(inside))


def test_what_the_platform_signs_is_accepted_and_the_other_way_round() -> None:
    body, unix = b'{"a": 1}', int(NOW.timestamp())
    assert signing.HEADER == signing_there.HEADER
    assert signing.is_signed(signing_there.signature("secret", body, NOW), body, ["secret"], unix)
    assert signing_there.verify("secret", signing.sign("secret", body, unix), body, NOW)
