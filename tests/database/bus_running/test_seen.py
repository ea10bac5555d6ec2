"""What operators see of sidecars: why a job waits, what doctor says, processes, metrics."""

from __future__ import annotations

import pytest

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.audit import Actor
from jobsplatform.telemetry import metrics
from jobsplatform.testing.platform import HandPlatform
from tasks import why
from tasks.bus import bindings
from tasks.doctor import backlog
from tasks.models import HandlerBinding, Job
from tests.database.bus_running.conftest import Side
from tests.database.cli.ran import ran

pytestmark = pytest.mark.django_db


def reason(job_id: str) -> str:
    """Why it does not run."""
    return why.why_not_running(Job.objects.get(id=job_id), clock.now())


def test_why_a_job_of_a_sidecar_waits(side: Side, jobs: HandPlatform):
    job_id = side.create()
    assert reason(job_id) == (
        "No live sidecar serves 'video:scrape' (no sidecar of the app 'video' has been heard of for a day)."
    )
    side.bind("other")
    side.claim("other", name="media-1")
    assert reason(job_id).startswith("No live sidecar serves 'video:scrape' (media-1 was heard of")
    side.claim("other", "scrape")
    elsewhere = side.create()
    Job.objects.filter(id=elsewhere).update(queue="default")
    assert "serves the queue 'default' (served: bus.video)" in reason(elsewhere)
    waits = side.create()
    assert reason(waits) == "All slots of queue 'bus.video' are full (the lowest priority running is 100)."
    side.beat({"id": job_id, "lease": 1}, stopping=True)
    assert reason(waits) == "Every sidecar that serves 'video:scrape' is stopping."
    HandlerBinding.objects.filter(job_type="scrape").update(enabled=False, revision=9)
    bindings.refresh()
    assert reason(waits) == "An operator has switched the binding of 'video:scrape' off."
    side.client.ok("jobs.unregister_handler", {"job_type": "scrape"})
    assert reason(waits) == "No sidecar has bound the type 'video:scrape'."


def test_why_a_called_job_waits(side: Side):
    body = {"job_type": "called", "service": "media", "transport": "http", "url": "https://a.example/"}
    side.client.ok("jobs.register_handler", body)
    job_id = side.create("called")
    assert reason(job_id).startswith("No operator has approved the url of 'video:called' yet")
    row = HandlerBinding.objects.get(job_type="called")
    bindings.approve(row.pk, actor=Actor("op", "user"), now=clock.now())
    assert reason(job_id) == "No live worker brings jobs of 'video:called' to their sidecar (http)."


def test_doctor_names_types_that_no_sidecar_serves(side: Side):
    side.create()
    (found,) = [each for each in backlog.check_queues(clock.now()) if each.check == "sidecars"]
    assert found.text.startswith("1 jobs of type video:scrape wait. No live sidecar serves")
    side.claim()
    assert not [each for each in backlog.check_queues(clock.now()) if each.check == "sidecars"]


def test_processes_and_metrics_count_sidecars(side: Side):
    side.create()
    side.claim(name="media-1", capacity=3)
    shown = ran("processes", "--json").json["processes"]
    (mine,) = [each for each in shown if each["role"] == "sidecar"]
    assert (mine["app_id"], mine["name"], mine["slots"], mine["busy"]) == ("video", "media-1", 3, 1)
    metrics.forget()
    page = metrics.render()[0].decode()
    assert 'jobsplatform_slots{kind="sidecars"} 3.0' in page
    assert 'jobsplatform_slots{kind="sidecars_busy"} 1.0' in page
    assert 'jobsplatform_processes{role="sidecar",state="live"} 1.0' in page
    assert config.get().tasks.provider == "celery"
