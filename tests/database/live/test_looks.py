"""What looks at the rows find when no hint has come: of much, of what is elsewhere, of leaders and of schedules."""

from datetime import timedelta
from typing import Any

import pytest

from jobsplatform.kernel import audit, clock
from jobsplatform.testing.factory import make_job
from tasks.live import hub, looks, reads
from tasks.models import AppEvent, ExternalJob, Job
from tasks.states import State
from tests.database.live.site import Site, admin, run
from tests.database.live.test_pages import touch

pytestmark = pytest.mark.django_db(transaction=True)
ACTOR = audit.Actor.system("test")


def many(count: int, **columns: Any) -> list[Job]:
    now = clock.now()
    values = {
        "job_type": "x",
        "handler_key": ":x",
        "created_at": now,
        "updated_at": now,
        "due_at": now,
    } | columns
    return Job.objects.bulk_create([Job(**values) for _ in range(count)])


async def look(back: timedelta, most: int) -> None:
    """One look of the running hub that goes so far back."""
    failed = await hub.current()._looks._look(clock.now() - back, most)
    assert failed is None


def resyncs(page: Any) -> int:
    return sum(frame["type"] == "resync" for frame in page.frames)


def test_a_look_far_back_counts_only_what_was_not_told(monkeypatch):
    session = admin()
    monkeypatch.setattr(looks, "EVERY_SECONDS", 0.3)
    old = clock.now() - timedelta(seconds=60)

    async def story(site: Site) -> None:
        page = await site.page(session)
        await page.subscribe("jobs")
        monkeypatch.setattr(looks, "MOST", 8)
        for _ in range(2):
            jobs = await site.do(many, 6)
            for job in jobs:
                await page.event(id=str(job.id))
            await site.do(Job.objects.all().update, updated_at=old)
        late = (await site.do(many, 1, updated_at=old))[0]
        await look(looks.FAR_BACK, looks.FAR_MOST)
        await page.event(id=str(late.id))
        assert resyncs(page) == 0

    run(story)


def test_what_was_too_much_is_skipped_once(monkeypatch):
    session = admin()
    old = clock.now() - timedelta(seconds=60)

    async def story(site: Site) -> None:
        page = await site.page(session)
        await page.subscribe("jobs")
        monkeypatch.setattr(looks, "MOST", 5)
        await site.do(many, 20, updated_at=old)
        stream = hub.current().streams.wide_ones()[0]
        before = stream.seq
        for _ in range(3):
            await look(looks.FAR_BACK, looks.FAR_MOST)
        assert stream.seq == before + 1

    run(story)


def test_too_much_from_elsewhere_ends_in_a_snapshot_for_those_who_hear_of_it(monkeypatch):
    session = admin()
    monkeypatch.setattr(looks, "MOST", 5)

    def tell() -> None:
        now = clock.now()
        columns = {"app_id": "video", "user_id": "7", "created_at": now}
        AppEvent.objects.bulk_create([AppEvent(kind="k", payload={}, **columns) for _ in range(20)])
        columns |= {"updated_at": now, "expires_at": now}
        ExternalJob.objects.bulk_create([ExternalJob(job_id=str(n), **columns) for n in range(20)])

    async def story(site: Site) -> None:
        page = await site.page(session)
        await page.subscribe("jobs", sub="jobs")
        await page.subscribe("user:7", sub="user")
        await site.do(tell)
        resync = await page.next(lambda frame: frame["type"] == "resync")
        assert resync["sub"] == "user"
        again = await page.subscribe("user:7", sub="user", after_event="0")
        assert (len(again["external"]), len(again["events"])) == (20, 20)

    run(story)


def test_an_alias_moves_though_its_leader_is_heard_by_nobody_and_its_hint_was_lost():
    session = admin()
    leader = make_job(State.RUNNING, dedupe_key="k", user_id="8")
    alias = make_job(dedupe_key="k", role="alias", leader=leader, user_id="7")

    async def story(site: Site) -> None:
        page = await site.page(session)
        await page.subscribe("user:7")
        for done in (1, 2, 3):
            await site.do(touch, leader.id, progress_done=done, progress_total=4)
            told = await page.event(id=str(alias.id))
            assert told["event"]["job"]["progress"]["done"] == done

    run(story)


def test_a_topic_that_cannot_be_asked_for_holds_up_no_other(monkeypatch):
    session = admin()
    job = make_job(State.RUNNING, user_id="7")
    read = reads.changed_jobs

    def choke(since: Any, among: Any, most: int) -> Any:
        if "poison" in str(among):
            raise ValueError("no such text")
        return read(since, among, most)

    monkeypatch.setattr(reads, "changed_jobs", choke)

    async def story(site: Site) -> None:
        page = await site.page(session)
        await page.subscribe("type::poison", sub="bad")
        await page.subscribe("user:7")
        await site.do(touch, job.id, progress_done=1)
        assert (await page.event(id=str(job.id)))["sub"] == "s"

    run(story)
