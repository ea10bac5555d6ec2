"""The celery transport: off until an operator names a broker of the app's own."""

from __future__ import annotations

import pytest
from kombu import Connection

from jobsplatform.kernel import clock, config
from tasks import registry
from tasks.bus import celery_queue
from tasks.bus.leaving import Leaving
from tasks.bus.proxy import BusProxyHandler
from tasks.models import Job
from tests.database.bus_running.conftest import Side

pytestmark = pytest.mark.django_db
BROKER = "memory://jobsplatform-bus-test"


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator has named the app's broker."""
    settings = config.get()
    bus = settings.bus.model_copy(update={"celery_brokers": {"video": BROKER}})
    monkeypatch.setattr(config, "get", lambda: settings.model_copy(update={"bus": bus}))


@pytest.mark.usefixtures("named")
def test_a_run_goes_into_the_apps_own_queue(side: Side):
    body = {"job_type": "queued", "service": "media", "transport": "celery", "spec": {"timeout": 60.0}}
    side.client.ok("jobs.register_handler", body)
    handler = registry.get("video", "queued")
    assert isinstance(handler, BusProxyHandler)
    assert handler.is_brought_by("celery")
    job_id = side.create("queued", {"n": 5})
    Job.objects.filter(id=job_id).update(
        state="running",
        lease=4,
        worker_id=job_id,
        started_at=clock.now(),
        first_started_at=clock.now(),
        attempt=1,
    )
    ending = celery_queue.send(Job.objects.get(id=job_id), handler, Leaving())
    assert ending is not None
    assert (ending.kind, ending.deadline) == ("deferred", 60.0)
    with Connection(BROKER) as broker, broker.SimpleQueue("bus.video.media") as queue:
        message = queue.get(timeout=5)
        message.ack()
    assert message.headers["task"] == celery_queue.TASK
    assert message.headers["id"] == f"{job_id}:4"
    delivery = message.decode()[1]["delivery"]
    assert (delivery["job"]["params"], delivery["lease"], delivery["caller"]["app_id"]) == (
        {"n": 5},
        4,
        "video",
    )


def test_it_is_off_by_default(side: Side):
    assert not celery_queue.is_on("video")
    body = {"job_type": "queued", "service": "media", "transport": "celery"}
    side.client.refused("INVALID", "jobs.register_handler", body)


def test_brokers_are_secret():
    assert "celery_brokers" not in repr(config.get())
