"""Text that no database can hold is refused; one part that fails does not stop the others."""

import asyncio
import json

import pytest
from django.test import Client

from jobsplatform.kernel import clock
from jobsplatform.testing.factory import make_job
from tasks.live import reads, topics, views
from tasks.live.viewer import Audience
from tasks.models import Job
from tasks.states import State
from tests.database.live.site import Site, admin, person, run

pytestmark = pytest.mark.django_db(transaction=True)

HALF, NUL = "\ud800", "\x00"


def test_text_that_cannot_be_stored_is_refused_and_the_feed_goes_on():
    session = admin()
    job = make_job(State.RUNNING)

    async def story(site: Site) -> None:
        page = await site.page(session)
        await page.subscribe("jobs", sub="all")
        for bad in (HALF, NUL):
            for frame in (
                {"type": "subscribe", "sub": "a", "topic": f"type::{bad}", "snapshot": False},
                {"type": "subscribe", "sub": bad, "topic": "jobs", "snapshot": False},
                {"type": "ping", bad: 1},
            ):
                await page.say(json.dumps(frame))
                refused = await page.next(lambda frame: frame["type"] == "error")
                assert refused["code"] == "INVALID"
        await page.say('{"type": "shout", "sub": "\\ud800"}')
        assert "sub" not in await page.next(lambda frame: frame["type"] == "error")
        await site.do(
            Job.objects.filter(pk=job.pk).update, revision=9, updated_at=clock.now(), progress_done=1
        )
        await page.event(id=str(job.id))

    run(story)


def test_a_ticket_for_a_name_that_cannot_be_stored_is_refused():
    _, session = person("ann")
    client = Client()
    client.cookies["sessionid"] = session
    for name in (f"user:{HALF}", f"user:{NUL}"):
        answer = client.post("/live/ticket", json.dumps({"topics": [name]}), content_type="application/json")
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID")


def test_a_refusal_keeps_nothing_of_the_requests_before():
    for _ in range(3):
        assert Client().get("/live/poll?topic=jobs").status_code == 401
    raised = []
    for _ in range(2):
        with pytest.raises(views.Answer) as caught:
            views._signed_in(Client().get("/live/poll?topic=jobs").wsgi_request)
        raised.append(caught.value)
    assert raised[0] is not raised[1]


def test_a_snapshot_has_the_runs_that_wait_for_their_children_however_few_jobs_are_asked_for():
    parent = make_job(State.WAITING)
    next_up = make_job(State.PENDING, lease=1, started_at=clock.now(), continuing=True, reason="continuation")
    make_job(State.COMPLETED)
    topic, everybody = topics.parse("type::test.job"), Audience(everything=True)
    inside, _ = reads.snapshot(topic, everybody, 1, [str(next_up.id)])
    shown = json.loads(f"{{{inside}}}")
    assert {run["job_id"] for run in shown["running"]} == {str(parent.id), str(next_up.id)}
    assert shown["complete"] is False


def test_a_parent_whose_continuation_is_next_starts_and_ends_once():
    session = admin()

    async def story(site: Site) -> None:
        page = await site.page(session)
        await page.subscribe("type::test.job")
        parent = await site.do(make_job, State.WAITING)
        await page.event("job_run_started", job_id=str(parent.id))
        rows = Job.objects.filter(pk=parent.pk)
        steps = (
            {"state": State.PENDING, "continuing": True, "reason": "continuation"},
            {
                "state": State.RUNNING,
                "lease": 2,
                "started_at": clock.now(),
                "reason": "",
                "worker_id": parent.id,
            },
            {"state": State.COMPLETED, "finished_at": clock.now(), "worker_id": None},
        )
        for n, step in enumerate(steps):
            await site.do(rows.update, revision=10 + n, updated_at=clock.now(), **step)
            await page.event(status=str(step["state"]))
        await page.event("job_run_ended", job_id=str(parent.id))
        await asyncio.sleep(0)
        told = [event["name"] for event in page.events() if event["name"] != "job_update"]
        assert told == ["job_run_started", "job_run_ended"]

    run(story)
