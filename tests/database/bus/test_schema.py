"""schemathesis over the whole API with real tokens: no 500, and every answer is what the schema says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tasks.bus import api
from tasks.bus.errors import CODES
from tasks.models import Job
from tests.database.bus.client import BusClient

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 20
IDS = {"id", "parent_id", "by", "parent"}

schema = schemathesis.openapi.from_dict(api.schema())
schema.app = get_wsgi_application()
OPERATIONS = {result.ok().path.rpartition("/")[2]: result.ok() for result in schema.get_all_operations()}
gently = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def aimed(body: Any, jobs: list[Job]) -> Any:
    """The body with ids, leases and types that there are: what is made up ends at the first look."""
    if isinstance(body, list):
        return [aimed(each, jobs) for each in body]
    if not isinstance(body, dict):
        return body
    target = jobs[len(str(body)) % len(jobs)]
    known = {**dict.fromkeys(IDS, str(target.id)), "job_type": "scan", "lease": target.lease}
    return {name: known.get(name, aimed(value, jobs)) for name, value in body.items()}


@pytest.fixture(autouse=True)
def kept_connection() -> Iterator[None]:
    """The server's side runs in this test's transaction, whose connection it must not close."""
    receivers, request_finished.receivers = request_finished.receivers, []
    started, request_started.receivers = request_started.receivers, []
    for signal in (request_finished, request_started):
        signal.sender_receivers_cache.clear()
    yield
    request_finished.receivers, request_started.receivers = receivers, started
    for signal in (request_finished, request_started):
        signal.sender_receivers_cache.clear()


@pytest.fixture
def targets(video: BusClient, make_job) -> list[Job]:
    states = ("running", "waiting", "pending", "completed", "paused", "running")
    return [make_job(state=state, app_id="video", job_type="scan") for state in states]


def test_every_method_is_an_operation():
    assert set(OPERATIONS) == set(api.METHODS)


@pytest.mark.parametrize("method", OPERATIONS)
def test_no_input_is_a_fault_and_every_answer_is_as_told(video: BusClient, targets: list[Job], method):
    codes: Counter[str] = Counter()

    operation = OPERATIONS[method]
    right, wrong = (operation.as_strategy(generation_mode=mode) for mode in schemathesis.GenerationMode)

    @gently
    @given(case=st.one_of(right, wrong), aim=st.booleans())
    def check(case: schemathesis.Case, aim: bool) -> None:
        if aim:
            case.body = aimed(case.body, targets)
        if isinstance(case.body, dict) and "wait_seconds" in case.body:
            case.body["wait_seconds"] = 0
        response = case.call(headers=video.headers)
        case.validate_response(response, checks=CHECKS)
        codes[response.json().get("error", {}).get("code", "ok")] += 1

    check()
    assert set(codes) - {"ok"} <= set(CODES)
    assert "INTERNAL" not in codes
    assert sum(codes.values()) >= EXAMPLES // 2


@pytest.mark.parametrize("method", OPERATIONS)
def test_without_a_token_no_input_is_looked_at(video: BusClient, targets: list[Job], method):
    @settings(gently, max_examples=3)
    @given(case=OPERATIONS[method].as_strategy())
    def check(case: schemathesis.Case) -> None:
        response = case.call(headers={})
        assert response.status_code == 401
        case.validate_response(response, checks=CHECKS)

    check()
