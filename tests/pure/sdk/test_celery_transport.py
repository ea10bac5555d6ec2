"""Runs that come as messages of a broker of the app's own, done by the Celery worker's pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from celery import Celery

from jobsplatform_sdk import JobContext, Retry, Sidecar
from jobsplatform_sdk.celery_transport import TASK, attach
from tests.pure.sdk.fake_bus import FakeBus, job_output

Make = Callable[..., Sidecar]


def delivery(job_id: str = "one", **params: Any) -> dict[str, Any]:
    return {"job": job_output(job_id, "work", params, 1), "lease": 1, "caller": {"service": "scraper"}}


@pytest.fixture
def app(bus: FakeBus) -> Celery:
    bus.claims = False
    return Celery("scraper", broker="memory://", set_as_current=False)


def test_a_message_is_a_run_and_its_end_is_told_over_the_bus(
    bus: FakeBus, make_sidecar: Make, app: Celery
) -> None:
    sidecar = make_sidecar(transport="celery", service="scraper")

    @sidecar.job("work")
    def work(ctx: JobContext, n: int) -> int:
        if n < 0:
            raise Retry(1, "busy")
        return 2 * n

    assert attach(sidecar, app) == "bus.video.scraper"
    app.tasks[TASK](delivery=delivery(n=21))
    assert bus.end_of() == {"kind": "completed", "result": 42}
    app.tasks[TASK](delivery=delivery("two", n=-1))
    assert bus.end_of("two")["kind"] == "retry"
    assert bus.calls("jobs.claim") == [] and bus.calls("jobs.heartbeat") == []
    assert [body["transport"] for body in bus.calls("jobs.register_handler")] == ["celery"]


def test_a_message_that_comes_twice_runs_once(bus: FakeBus, make_sidecar: Make, app: Celery) -> None:
    sidecar = make_sidecar(transport="celery")
    starts: list[str] = []

    @sidecar.job("work")
    def work(ctx: JobContext) -> None:
        starts.append(ctx.id)
        if len(starts) == 1:
            app.tasks[TASK](delivery=delivery())  # the broker brings it again while it is being done

    attach(sidecar, app)
    app.tasks[TASK](delivery=delivery())
    assert bus.end_of() == {"kind": "completed"} and starts == ["one"]


def test_another_transport_is_refused(make_sidecar: Make, app: Celery) -> None:
    with pytest.raises(ValueError, match="celery"):
        attach(make_sidecar(), app)
