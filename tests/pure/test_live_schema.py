"""The schema that the JavaScript types are made from: fresh, and true of what a page is really sent."""

import json
from datetime import UTC, datetime
from typing import Any, get_type_hints
from uuid import uuid4

import pytest
from pydantic import TypeAdapter, ValidationError

from tasks.live import facts, schema
from tasks.models import AppEvent, ExternalJob, Job
from tasks.output import job_output
from tasks.states import State
from tests.pure.docs.pages import ROOT

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def made_job(**values: Any) -> Job:
    return Job(
        **{"id": uuid4(), "job_type": "files.scan", "state": State.RUNNING, "created_at": NOW, "revision": 3}
        | values
    )


def check(shape: Any, value: Any) -> None:
    """Strictly, and without fields that the schema does not know."""
    given = json.loads(json.dumps(value))
    found = TypeAdapter(shape).validate_python(given, strict=True)
    assert found == given
    assert set(given) <= set(get_type_hints(shape)), "a field is not in the schema"


def test_the_schema_of_the_sdk_is_fresh():
    """Else: python -m tasks.live.schema sdk/js/live.schema.json && (cd sdk/js && npm run types)"""
    assert (ROOT / "sdk" / "js" / "live.schema.json").read_text() == schema.text()


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("payload", [True, False])
def test_a_job_is_what_the_schema_says(state, payload):
    job = made_job(state=state, params={"root": "/srv"}, error="no such folder", error_type="OSError")
    check(schema.JobOutput, job_output(job, payload=payload))
    check(schema.JobRow, facts.job_row(job, payload=payload))


def test_what_is_told_of_a_row_is_what_the_schema_says():
    external = ExternalJob(app_id="video", job_id="7", progress=50.0, updated_at=NOW, created_at=NOW)
    event = AppEvent(pk=5, app_id="video", user_id="ann", kind="upload", payload={"done": True})
    told = {
        schema.JobUpdate: facts.of_job(made_job(), (True,)).bodies[True],
        schema.ExternalJobUpdate: facts.of_external(external).bodies[True],
        schema.AppEntity: facts.of_app_event(event).bodies[True],
    }
    for shape, body in told.items():
        check(shape, json.loads(body))


def test_what_is_told_of_a_run_is_what_the_schema_says():
    run = facts.run_of(made_job(started_at=NOW, user_id="ann"))
    check(schema.RunningJob, facts.running(run))
    check(schema.JobRunStarted, {"name": "job_run_started", **facts.running(run)})


def test_the_check_itself_finds_a_difference():
    output = job_output(made_job())
    with pytest.raises(ValidationError):
        check(schema.JobOutput, {**output, "status": "sleeping"})
    with pytest.raises((ValidationError, AssertionError)):
        check(schema.JobOutput, {**output, "colour": "blue"})
