"""Who is let in, and what each may hear."""

import logging
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.sessions.models import Session
from django.test import Client

from jobsplatform.kernel import audit, clock, tokens
from jobsplatform.kernel.models import App
from jobsplatform.testing.factory import make_job
from tasks import control
from tasks.live import tickets
from tasks.models import AppEvent, Job
from tasks.states import State
from tests.database.live.site import HOST, Page, Site, admin, person, run

pytestmark = pytest.mark.django_db(transaction=True)
ACTOR = audit.Actor.system("test")

FOREIGN = [
    None,
    "",
    "https://evil.example",
    f"http://{HOST}.evil.example",
    f"http://{HOST}@evil.example",
    f"http://evil.example@{HOST}",
    "null",
    f"http://{HOST}/",
    f"http://{HOST}:81",
    f"http://{HOST}, http://evil.example",
    f"http://{HOST}\x00",
    "http://[::1",
    "http://é",
]


def ids(snapshot: dict[str, Any]) -> list[str]:
    return [row["job"]["id"] for row in snapshot["jobs"]]


def test_a_page_of_ours_is_let_in():
    session = admin()

    async def story(site: Site) -> None:
        for origin in (f"http://{HOST}", f"HTTP://{HOST.upper()}", f"http://{HOST}:80"):
            assert await Page(site.socket(session, origin=origin)).connect() is None

    run(story)


def test_a_page_from_elsewhere_is_not_and_each_is_told_in_one_line(caplog):
    session = admin()

    async def story(site: Site) -> None:
        for origin in FOREIGN:
            with caplog.at_level(logging.WARNING, "jobsplatform.live"):
                assert await Page(site.socket(session, origin=origin)).connect() == 4403, origin

    run(story)
    lines = [record for record in caplog.records if record.name == "jobsplatform.live"]
    assert 1 <= len(lines) <= len(FOREIGN)


def test_without_a_session_nobody_is_let_in():
    async def story(site: Site) -> None:
        for session in ("", "a" * 32, "\x00", "../../etc"):
            page = Page(site.socket(session))
            assert await page.connect() is None
            assert await page.end() == 4401

    run(story)


def test_somebody_without_rights_hears_of_their_own_jobs_alone():
    user, session = person("ann")
    own, other = make_job(user_id=str(user.pk), params={"secret": 1}), make_job(user_id="999")

    async def story(site: Site) -> None:
        page = await site.page(session)
        assert ids(await page.subscribe("type::test.job", sub="type")) == [str(own.id)]
        mine = await page.subscribe(f"user:{user.pk}", sub="user")
        assert ids(mine) == [str(own.id)]
        assert mine["jobs"][0]["job"]["params"] == {}
        for topic in ("jobs", "system", "user:999", "schedule:nightly"):
            assert (await page.subscribe(topic, sub="x"))["code"] == "FORBIDDEN"
        missing = await page.subscribe("job:01890a5d-ac96-774b-bcce-b302099a8057", sub="x")
        hidden = await page.subscribe(f"job:{other.id}", sub="x")
        assert missing == hidden
        assert hidden["code"] == "NOT_FOUND"
        await site.do(control.cancel, other.id, actor=ACTOR)
        await site.do(control.cancel, own.id, actor=ACTOR)
        await page.event(status="cancelled")
        await page.event(status="cancelled")
        assert {event["job"]["id"] for event in page.events()} == {str(own.id)}

    run(story)


def test_staff_without_the_right_to_view_jobs_hear_no_others():
    _, session = person("bob", staff=True)
    make_job(user_id="999")

    async def story(site: Site) -> None:
        page = await site.page(session)
        assert ids(await page.subscribe("type::test.job")) == []
        assert (await page.subscribe("jobs"))["code"] == "FORBIDDEN"

    run(story)


def test_payloads_are_a_right_of_their_own():
    _, plain = person("eve", "tasks.view_job", staff=True)
    _, trusted = person("tom", "tasks.view_job", "tasks.view_payload", staff=True)
    job = make_job(State.RUNNING, params={"secret": 1}, data={"secret": 2})

    async def story(site: Site) -> None:
        shown = {}
        for session in (plain, trusted):
            page = await site.page(session)
            first = await page.subscribe("jobs")
            await site.do(control.cancel, job.id, actor=ACTOR)
            await site.do(
                Job.objects.filter(pk=job.id).update,
                revision=first["jobs"][0]["revision"] + 1,
                updated_at=clock.now(),
            )
            told = await page.event()
            shown[session] = [first["jobs"][0]["job"]["params"], told["event"]["job"]["data"]]
        assert shown == {plain: [{}, {}], trusted: [{"secret": 1}, {"secret": 2}]}

    run(story)


# -- what ends ---------------------------------------------------------------------------------------


def log_out(session: str) -> None:
    client = Client()
    client.cookies["sessionid"] = session
    client.post("/admin/logout/")
    assert not Session.objects.filter(session_key=session).exists()


def change_password(user: User) -> None:
    user.set_password("y")
    user.save()


def deactivate(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


def test_a_session_that_ends_takes_its_sockets_along():
    ann, bob, eve = (person(name, "tasks.view_job", staff=True) for name in ("ann", "bob", "eve"))

    async def story(site: Site) -> None:
        pages = [await site.page(session) for _, session in (ann, bob, eve)]
        for page in pages:
            await page.subscribe("jobs")
        await site.do(log_out, ann[1])
        await site.do(change_password, bob[0])
        await site.do(deactivate, eve[0])
        assert [await page.end() for page in pages] == [4401] * 3

    run(story)


def test_a_right_that_is_taken_away_ends_what_it_allowed():
    user, session = person("ann", "tasks.view_job", "tasks.view_payload", staff=True)
    job = make_job(State.RUNNING, params={"secret": 1}, user_id=str(user.pk))

    def take(codename: str) -> None:
        user.user_permissions.remove(Permission.objects.get(codename=codename))

    async def story(site: Site) -> None:
        page = await site.page(session)
        await page.subscribe("jobs", sub="all")
        assert (await page.subscribe(f"job:{job.id}", sub="one"))["jobs"][0]["job"]["params"] == {"secret": 1}
        await site.do(take, "view_payload")
        await page.next(lambda frame: frame["type"] == "resync" and frame["sub"] == "one")
        assert (await page.subscribe(f"job:{job.id}", sub="one"))["jobs"][0]["job"]["params"] == {}
        await site.do(take, "view_job")
        refused = await page.next(lambda frame: frame["type"] == "error")
        assert (refused["sub"], refused["code"]) == ("all", "FORBIDDEN")

    run(story)


# -- tickets -----------------------------------------------------------------------------------------


def ask(client: Client, body: Any = None, **headers: str) -> Any:
    return client.post("/live/ticket", body or {}, content_type="application/json", headers=headers)


def app_token(app_id: str = "video", *scopes: str) -> str:
    app, _ = App.objects.get_or_create(app_id=app_id)
    made = tokens.mint(
        app, name="t", scopes=scopes or ("jobs:read",), expires_at=None, actor=ACTOR, now=clock.now()
    )
    return f"Bearer {made[1]}"


def test_a_ticket_lets_in_once_from_wherever_the_page_is():
    _, session = person("ann", "tasks.view_job", staff=True)
    client = Client()
    client.cookies["sessionid"] = session
    text = ask(client).json()["ticket"]

    async def story(site: Site) -> int:
        page = await site.page(ticket=text, origin="https://elsewhere.example")
        assert (await page.subscribe("jobs"))["type"] == "snapshot"
        again = Page(site.socket(ticket=text, origin=None))
        assert await again.connect() is None
        assert await again.end() == 4401
        await site.do(log_out, session)
        return await page.end()

    assert run(story) == 4401


def test_a_ticket_for_some_topics_is_for_no_others():
    job = make_job()
    _, session = person("ann", "tasks.view_job", staff=True)
    client = Client()
    client.cookies["sessionid"] = session
    text = ask(client, {"topics": [f"job:{job.id}"]}).json()["ticket"]

    async def story(site: Site) -> None:
        page = await site.page(ticket=text)
        assert ids(await page.subscribe(f"job:{job.id}")) == [str(job.id)]
        assert (await page.subscribe("jobs"))["code"] == "FORBIDDEN"

    run(story)


def test_a_ticket_needs_a_session_and_its_csrf_token():
    assert ask(Client()).status_code == 401
    _, session = person("ann")
    strict = Client(enforce_csrf_checks=True)
    strict.cookies["sessionid"] = session
    assert ask(strict).status_code == 403
    assert ask(Client(), Authorization="Bearer jp_nonsense").status_code == 401
    assert Client().get("/live/ticket").status_code == 405


def test_an_app_buys_tickets_for_its_users_and_they_hear_nothing_of_other_apps():
    bearer = app_token()
    mine = make_job(app_id="video", user_id="7", params={"secret": 1})
    make_job(app_id="video", user_id="8")
    other = make_job(app_id="audio", user_id="7")
    text = ask(Client(), {"user_id": "7"}, Authorization=bearer).json()["ticket"]
    whole = ask(Client(), Authorization=bearer).json()["ticket"]

    async def story(site: Site) -> None:
        page = await site.page(ticket=text, origin="https://video.example")
        for topic in ("user:7", "app:video", "type:video:test.job", f"job:{mine.id}"):
            found = await page.subscribe(topic)
            assert ids(found) == [str(mine.id)]
            assert found["jobs"][0]["job"]["params"] == {}
        for topic in ("user:8", "app:audio", "app:", "type:audio:test.job", "jobs", "system"):
            assert (await page.subscribe(topic))["code"] == "FORBIDDEN"
        assert (await page.subscribe(f"job:{other.id}"))["code"] == "NOT_FOUND"
        everything = await site.page(ticket=whole, origin=None)
        found = await everything.subscribe("app:video")
        assert len(found["jobs"]) == 2
        assert {"secret": 1} in [row["job"]["params"] for row in found["jobs"]]
        await site.do(
            AppEvent.objects.bulk_create,
            [
                AppEvent(app_id=app, user_id=user, kind="x", payload=app, created_at=clock.now())
                for app, user in (("audio", "7"), ("video", "8"), ("video", "7"))
            ],
        )
        told = await page.subscribe("user:7", after_event="0")
        assert [event["payload"] for event in told["events"]] == ["video"]

    run(story)


def test_a_revoked_token_ends_the_sockets_of_its_tickets():
    bearer = app_token()
    text = ask(Client(), Authorization=bearer).json()["ticket"]
    token_id = tokens.public_id(bearer.split()[1])
    assert token_id is not None

    async def story(site: Site) -> int:
        page = await site.page(ticket=text, origin=None)
        await page.subscribe("app:video")
        await site.do(tokens.revoke, token_id, actor=ACTOR, now=clock.now())
        return await page.end()

    assert run(story) == 4401


def test_a_token_needs_the_scope_and_its_app_enabled():
    assert (
        ask(Client(), Authorization=app_token("video", "jobs:create")).json()["error"]["code"]
        == "SCOPE_MISSING"
    )
    bearer = app_token("audio")
    App.objects.filter(app_id="audio").update(enabled=False)
    assert ask(Client(), Authorization=bearer).json()["error"]["code"] == "APP_DISABLED"


def test_old_tickets_are_worth_nothing_and_go():
    _, session = person("ann")
    now = clock.now()
    old = tickets.for_session(session, "1", (), now - timedelta(seconds=tickets.SECONDS))
    fresh = tickets.for_session(session, "1", (), now)
    assert tickets.redeem(old, now) is None
    assert tickets.prune(now) == 1
    assert tickets.redeem(fresh, now) is not None
    assert tickets.redeem(fresh, now) is None


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("[]", "MALFORMED_JSON"),
        ("{", "MALFORMED_JSON"),
        ('{"topics": "jobs"}', "INVALID"),
        ('{"other": 1}', "INVALID"),
        ('{"topics": ["nothing"]}', "UNKNOWN_TOPIC"),
        ('{"topics": ["jobs"]}', "FORBIDDEN"),
        ('{"user_id": 7}', "INVALID"),
    ],
)
def test_a_bad_wish_for_a_ticket_is_refused_by_name(body, code):
    answer = ask(Client(), body, Authorization=app_token())
    assert answer.json()["error"]["code"] == code


# -- polling -----------------------------------------------------------------------------------------


def test_polling_gives_the_snapshot_by_the_same_rules():
    user, session = person("ann")
    own = make_job(user_id=str(user.pk))
    make_job(user_id="999")
    client = Client()
    client.cookies["sessionid"] = session
    found = client.get("/live/poll", {"topic": "type::test.job", "limit": "5"}).json()
    assert (found["type"], ids(found)) == ("snapshot", [str(own.id)])
    assert client.get("/live/poll", {"topic": "jobs"}).status_code == 403
    assert client.get("/live/poll", {"topic": "x"}).status_code == 400
    assert client.get("/live/poll", {"topic": "jobs", "limit": "-1"}).status_code == 403
    assert client.get("/live/poll", {"topic": f"user:{user.pk}", "limit": "x"}).status_code == 400
    assert Client().get("/live/poll", {"topic": "jobs"}).status_code == 401
    mine = make_job(app_id="video")
    found = Client().get("/live/poll", {"topic": "app:video"}, headers={"Authorization": app_token()}).json()
    assert ids(found) == [str(mine.id)]
