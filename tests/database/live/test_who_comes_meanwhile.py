"""Somebody comes, or many do, while rows are being read."""

import asyncio
import threading

import pytest

from jobsplatform.testing.factory import make_job
from tasks.live import hub, reads, streams
from tasks.live.topics import parse
from tasks.live.viewer import Audience
from tasks.states import State
from tests.database.live.site import Site, admin, person, run
from tests.database.live.test_pages import touch

pytestmark = pytest.mark.django_db(transaction=True)


def test_who_sees_less_and_comes_in_mid_reading_is_told_too(monkeypatch):
    session = admin()
    user, other = person("ann")
    job = make_job(State.RUNNING, user_id=str(user.pk))
    reading, go_on = threading.Event(), threading.Event()
    read = reads.job_facts

    def slowly(*args):
        reading.set()
        assert go_on.wait(10)
        return read(*args)

    async def story(site: Site) -> None:
        root, page = await site.page(session), await site.page(other)
        await root.subscribe("jobs")
        monkeypatch.setattr(reads, "job_facts", slowly)
        await site.do(touch, job.id, progress_done=1)
        await asyncio.to_thread(reading.wait, 10)
        await page.send(type="subscribe", sub="s", topic=f"user:{user.pk}", snapshot=False)
        await page.send(type="ping")
        await page.next(lambda frame: frame["type"] == "pong")
        go_on.set()
        await page.event(id=str(job.id))

    run(story)


def test_no_two_streams_share_a_number_and_one_that_is_full_begins_anew(monkeypatch):
    made = streams.Streams()
    topic = parse("jobs")
    first = made.open(topic, Audience(everything=True))
    first.add("{}")
    second = made.open(topic, Audience(everything=True, payload=True))
    assert not second.covers(first.seq) and not second.covers(first.base)
    monkeypatch.setattr(streams, "SPARE", streams.BLOCK - 2)
    assert made.renew_full() == []
    before = [first.add("{}") or first.seq for _ in range(2)]
    assert made.renew_full() == [first]
    assert not any(first.covers(seq) or second.covers(seq) for seq in before)
    assert first.seq > second.base


def test_rights_are_looked_at_though_snapshots_wait(monkeypatch):
    user, session = person("ann")
    go_on = threading.Event()
    monkeypatch.setattr(hub, "RECHECK_SECONDS", 0.05)

    async def story(site: Site) -> int:
        page = await site.page(session)
        held = hub.current().asks.ask(go_on.wait, 20)
        waiting = asyncio.ensure_future(held)
        user.is_active = False
        await site.do(user.save)
        try:
            return await page.end()
        finally:
            go_on.set()
            await waiting

    assert run(story) == hub.SIGNED_OUT
