"""A page subscribes, gets a snapshot, and sees what happens next."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from jobsplatform.kernel import audit, clock
from jobsplatform.testing.factory import make_job
from tasks import control
from tasks.live.schema import ServerFrame
from tasks.models import Job
from tasks.states import State
from tests.database.live.site import Site, admin, run

pytestmark = pytest.mark.django_db(transaction=True)
ACTOR = audit.Actor.system("test")
WIRE: TypeAdapter[Any] = TypeAdapter(ServerFrame)


def cancel(job: Job) -> None:
    control.cancel(job.id, actor=ACTOR)


def touch(job_id: Any, **columns: Any) -> None:
    """A write that nobody tells of."""
    row = Job.objects.get(pk=job_id)
    Job.objects.filter(pk=job_id).update(revision=row.revision + 1, updated_at=clock.now(), **columns)


def test_a_snapshot_and_then_what_happens():
    session = admin()
    job = make_job(params={"path": "/x"})

    async def story(site: Site) -> None:
        page = await site.page(session)
        first = await page.subscribe("jobs")
        assert [row["job"]["id"] for row in first["jobs"]] == [str(job.id)]
        assert first["jobs"][0]["job"]["params"] == {"path": "/x"}
        assert first["complete"] is True
        await site.do(cancel, job)
        told = await page.event(status="cancelled")
        assert told["seq"] > first["seq"]
        assert told["event"]["revision"] > first["jobs"][0]["revision"]
        beat = await page.next(lambda frame: frame["type"] == "beat")
        assert beat["heads"] == {"s": told["seq"]}
        for frame in page.frames:
            WIRE.validate_python(frame)

    run(story)


def test_a_new_job_appears_in_its_topics():
    session = admin()

    async def story(site: Site) -> None:
        page = await site.page(session)
        for topic in ("jobs", "type::test.job", "user:7", "app:"):
            assert (await page.subscribe(topic, sub=topic))["jobs"] == []
        job = await site.do(make_job, user_id="7")
        found = set()
        while len(found) < 4:
            frame = await page.event(id=str(job.id))
            found.add(frame["sub"])

    run(story)


def test_a_change_that_nobody_told_of_is_seen_within_two_looks():
    session = admin()
    job = make_job(State.RUNNING)

    async def story(site: Site) -> None:
        page = await site.page(session)
        await page.subscribe("jobs", sub="all")
        await page.subscribe(f"job:{job.id}", sub="one")
        await site.do(touch, job.id, progress_done=3, progress_total=4)
        frames = [await page.next(lambda frame: frame["type"] == "event") for _ in range(2)]
        assert {frame["sub"] for frame in frames} == {"all", "one"}
        assert all(frame["event"]["job"]["progress"]["pct"] == 75.0 for frame in frames)

    run(story)
