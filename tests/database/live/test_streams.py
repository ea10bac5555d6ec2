"""What a page that missed something gets, what one that asks badly gets, and how much is said of one job."""

import asyncio
from typing import Any

import pytest

from jobsplatform.kernel import audit, clock
from jobsplatform.kernel.models import App
from jobsplatform.testing.factory import make_job
from tasks import control, transitions
from tasks.live import hub, looks, reads, stream
from tasks.models import AppEvent, ExternalJob, Job
from tasks.states import State
from tests.database.live.site import Page, Site, admin, run
from tests.database.live.test_pages import touch

pytestmark = pytest.mark.django_db(transaction=True)
ACTOR = audit.Actor.system("test")


def progress(job: Job, done: float) -> None:
    assert transitions.progress(job.id, job.lease, done, 100, "", clock.now())


def complete(job_id: Any) -> None:
    touch(job_id, state=State.COMPLETED, finished_at=clock.now(), worker_id=None)


async def told(page: Page, job: Job, done: float) -> dict[str, Any]:
    return await page.next(
        lambda frame: (
            frame["type"] == "event"
            and frame["event"].get("job", {}).get("id") == str(job.id)
            and frame["event"]["job"]["progress"]["done"] == done
        )
    )


def test_a_hole_is_filled_by_a_replay_and_after_a_reconnect_too():
    session = admin()
    jobs = [make_job() for _ in range(3)]

    async def story(site: Site) -> None:
        page = await site.page(session)
        first = await page.subscribe("jobs")
        for job in jobs:
            await site.do(control.cancel, job.id, actor=ACTOR)
        frames = [await page.event(status="cancelled") for _ in jobs]
        assert [frame["seq"] - first["seq"] for frame in frames] == [1, 2, 3]
        await page.send(type="replay", sub="s", after=first["seq"] + 1)
        again = [await page.event() for _ in range(2)]
        assert again == frames[1:]
        await page.leave()
        back = await site.page(session)
        epoch = back.frames[0]["epoch"]
        await back.send(
            type="subscribe", sub="n", topic="jobs", since={"epoch": epoch, "seq": first["seq"] + 2}
        )
        assert (await back.event())["event"] == frames[2]["event"]
        # Of another life of the server, or beyond what is kept: a snapshot.
        for since in ({"epoch": "other", "seq": first["seq"]}, {"epoch": epoch, "seq": 10**9}):
            assert (await back.subscribe("jobs", sub="x", since=since))["type"] == "snapshot"
        await back.send(type="replay", sub="n", after=0)
        await back.next(lambda frame: frame == {"type": "resync", "sub": "n"})

    run(story)


def test_a_page_that_falls_behind_is_told_to_start_anew(monkeypatch):
    session = admin()
    monkeypatch.setattr(stream, "KEPT", 3)
    jobs = [make_job() for _ in range(8)]

    async def story(site: Site) -> None:
        page = await site.page(session)
        await page.subscribe("jobs")
        [connection] = hub.current().connections
        blocked = asyncio.Event()
        send, connection._send = connection._send, lambda text: blocked.wait()  # type: ignore[assignment,return-value]
        for job in jobs:
            await site.do(control.cancel, job.id, actor=ACTOR)
        one = hub.current().streams.wide_ones()[0]
        while one.seq - one.base < len(jobs):
            await asyncio.sleep(0.01)
        connection._send = send
        blocked.set()
        await page.next(lambda frame: frame == {"type": "resync", "sub": "s"})
        found = await page.subscribe("jobs")
        assert {row["job"]["status"] for row in found["jobs"]} == {"cancelled"}

    run(story)


def test_more_than_can_be_told_ends_in_a_snapshot(monkeypatch):
    session = admin()
    monkeypatch.setattr(looks, "MOST", 5)

    async def story(site: Site) -> None:
        page = await site.page(session)
        await page.subscribe("jobs")
        now = clock.now()
        rows = [
            Job(job_type="x", handler_key=":x", created_at=now, updated_at=now, due_at=now) for _ in range(20)
        ]
        await site.do(Job.objects.bulk_create, rows)
        await page.next(lambda frame: frame["type"] == "resync")
        assert len((await page.subscribe("jobs"))["jobs"]) == 20

    run(story)


def test_one_job_is_told_four_times_a_second_at_most_and_its_last_word_comes():
    session = admin()
    job = make_job(State.RUNNING)

    async def story(site: Site) -> None:
        page = await site.page(session)
        await page.subscribe(f"job:{job.id}")
        began = asyncio.get_running_loop().time()
        for done in range(1, 101):
            await site.do(progress, job, done)
            await asyncio.sleep(0.01)
        frame = await told(page, job, 100)
        took = asyncio.get_running_loop().time() - began
        assert len(page.events()) <= 4 * (took + 1)
        assert frame["event"]["job"]["progress"]["pct"] == 100.0

    run(story)


def test_runs_start_and_end_on_the_topic_of_their_type():
    session = admin()
    before = make_job(State.RUNNING, user_id="7")

    async def story(site: Site) -> None:
        page = await site.page(session)
        first = await page.subscribe("type::test.job")
        assert [run["job_id"] for run in first["running"]] == [str(before.id)]
        job = await site.do(make_job, State.RUNNING, schedule_id="nightly")
        started = (await page.event("job_run_started"))["event"]
        assert (started["job_id"], started["actor"]) == (str(job.id), "schedule:nightly")
        for each in (job, before):
            await site.do(complete, each.id)
            ended = (await page.event("job_run_ended"))["event"]
            assert (ended["job_id"], ended["success"]) == (str(each.id), True)
        quick = await site.do(make_job, State.FAILED)
        assert (await page.event("job_run_started"))["event"]["job_id"] == str(quick.id)
        assert (await page.event("job_run_ended"))["event"]["success"] is False
        names = [event["name"] for event in page.events()]
        assert names.count("job_run_started") == 2
        assert names.count("job_run_ended") == 3

    run(story)


def test_an_alias_moves_with_its_leader():
    session = admin()
    leader = make_job(State.RUNNING, dedupe_key="k")
    alias = make_job(dedupe_key="k", role="alias", leader=leader)

    async def story(site: Site) -> None:
        page = await site.page(session)
        first = (await page.subscribe(f"job:{alias.id}"))["jobs"][0]
        assert first["job"]["status"] == "running"
        await site.do(progress, leader, 40)
        frame = await told(page, alias, 40)
        assert frame["event"]["revision"] > first["revision"]

    run(story)


def test_a_job_that_is_removed_is_gone():
    session = admin()
    job, other = make_job(), make_job()

    async def story(site: Site) -> None:
        page = await site.page(session)
        await page.subscribe(f"job:{job.id}", sub="one")
        await page.subscribe("jobs", sub="all")
        await site.do(Job.objects.filter(pk__in=[job.pk, other.pk]).delete)
        gone = set()
        while len(gone) < 3:
            frame = await page.event("job_gone")
            gone.add((frame["sub"], frame["event"]["id"]))
        assert gone == {("one", str(job.id)), ("all", str(job.id)), ("all", str(other.id))}

    run(story)


def test_what_apps_tell_and_what_runs_elsewhere_reach_their_user():
    session = admin()
    now = clock.now()
    row = ExternalJob(app_id="video", job_id="a", user_id="7", created_at=now, updated_at=now, expires_at=now)

    async def story(site: Site) -> None:
        page = await site.page(session)
        assert (await page.subscribe("user:7"))["external"] == []
        await site.do(row.save)
        assert (await page.event("external_job_update"))["event"]["external"]["job_id"] == "a"
        told = await site.do(
            AppEvent.objects.create,
            app_id="video",
            user_id="7",
            kind="k",
            payload={"a": 1},
            created_at=clock.now(),
        )
        found = (await page.event("app_entity"))["event"]
        assert (found["id"], found["payload"]) == (str(told.pk), {"a": 1})
        again = await page.subscribe("user:7", after_event="0")
        assert [event["id"] for event in again["events"]] == [str(told.pk)]
        assert again["last_event_id"] == str(told.pk)
        assert [each["job_id"] for each in again["external"]] == ["a"]

    run(story)


def test_the_system_topic_tells_of_apps_and_suspensions():
    session = admin()

    async def story(site: Site) -> None:
        page = await site.page(session)
        await page.subscribe("system")
        await page.next(lambda frame: frame["type"] == "beat")
        await asyncio.sleep(looks.EVERY_SECONDS)
        await site.do(App.objects.create, app_id="video")
        assert (await page.event("apps_changed"))["event"]["apps"] == ["video"]
        await site.do(control.suspend, "all", actor=ACTOR)
        assert (await page.event("suspensions_changed"))["event"]["open"][0]["scope"] == "all"

    run(story)


BAD = [
    ("{", "MALFORMED"),
    ("[]", "MALFORMED"),
    ("[" * 5000, "MALFORMED"),
    ("{}", "UNKNOWN_TYPE"),
    ('{"type": "shout"}', "UNKNOWN_TYPE"),
    ('{"type": ["ping"]}', "UNKNOWN_TYPE"),
    ('{"type": "ping", "more": 1}', "INVALID"),
    ('{"type": "subscribe", "sub": "a"}', "INVALID"),
    ('{"type": "subscribe", "sub": "a", "topic": "jobs", "limit": true}', "INVALID"),
    ('{"type": "subscribe", "sub": "a", "topic": "jobs", "since": {"epoch": "x"}}', "INVALID"),
    ('{"type": "subscribe", "sub": "a", "topic": "jobs", "after_event": "x"}', "INVALID"),
    ('{"type": "subscribe", "sub": "a", "topic": "weather"}', "UNKNOWN_TOPIC"),
    ('{"type": "subscribe", "sub": "a", "topic": "job:7"}', "UNKNOWN_TOPIC"),
    ('{"type": "unsubscribe", "sub": "none"}', "UNKNOWN_SUB"),
    ('{"type": "replay", "sub": "none", "after": 1}', "UNKNOWN_SUB"),
    ('{"type": "ping", "x": "' + "x" * 20_000 + '"}', "TOO_LARGE"),
]


def test_a_bad_frame_is_refused_by_name_and_the_connection_goes_on():
    session = admin()

    async def story(site: Site) -> None:
        page = await site.page(session)
        for text, code in BAD:
            await page.say(text)
            assert (await page.next(lambda frame: frame["type"] == "error"))["code"] == code, text[:80]
        await page.say(None, b"\x00")
        assert (await page.next(lambda frame: frame["type"] == "error"))["code"] == "MALFORMED"
        await page.send(type="ping")
        await page.next(lambda frame: frame["type"] == "pong")

    run(story)


def test_who_sends_nothing_but_nonsense_is_closed():
    session = admin()

    async def story(site: Site) -> int:
        page = await site.page(session)
        for _ in range(30):
            await page.say("nonsense")
        return await page.end()

    assert run(story) == 4400


def test_a_connection_has_no_more_subscriptions_than_it_may():
    session = admin()

    async def story(site: Site) -> None:
        page = await site.page(session)
        for n in range(101):
            await page.send(type="subscribe", sub=str(n), topic=f"user:{n}", snapshot=False)
        refused = await page.next(lambda frame: frame["type"] == "error")
        assert (refused["sub"], refused["code"]) == ("100", "TOO_MANY")

    run(story)


def test_of_types_that_nobody_listens_to_no_row_is_read(monkeypatch):
    session, read = admin(), []
    real = reads.job_facts

    def noted(ids, payloads):
        read.extend(ids)
        return real(ids, payloads)

    monkeypatch.setattr(reads, "job_facts", noted)

    async def story(site: Site) -> None:
        page = await site.page(session)
        alone = await site.do(make_job, job_type="other", handler_key=":other")
        await page.subscribe("type::test.job", sub="type")
        await page.subscribe(f"job:{alone.id}", sub="job")
        stranger = await site.do(make_job, job_type="other", handler_key=":other")
        heard = await site.do(make_job)
        for job in (stranger, alone, heard):
            await site.do(control.cancel, job.id, actor=ACTOR)
        wanted = {str(alone.id), str(heard.id)}
        while wanted:  # in whatever order they are told
            wanted.discard((await page.event(status="cancelled"))["event"]["job"]["id"])
        assert stranger.id not in read and {alone.id, heard.id} <= set(read)

    run(story)
