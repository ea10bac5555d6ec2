"""An app's name in a request, wherever it stands, changes nothing and is recorded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobsplatform.kernel.models import App, AuditEvent
from tasks.bus import forged
from tasks.models import AppEvent, ExternalJob, HandlerBinding, Job
from tests.database.bus.client import BusClient
from tests.database.bus.places import ID, Requests, with_field

REQUESTS = Requests()
PLACES = {method: list(REQUESTS.bodies(method)) for method in REQUESTS.methods}
ROWS = (Job, ExternalJob, AppEvent, HandlerBinding)

names = st.sampled_from(sorted(forged.NAMES))
values = st.one_of(
    st.sampled_from(["music", "video", "", ":"]),
    st.none(),
    st.booleans(),
    st.integers(min_value=-(2**53), max_value=2**53),
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20),
    st.lists(st.just("music"), max_size=2),
    st.fixed_dictionaries({"app_id": st.just("music")}),
)
headers = st.sampled_from(
    ["X-App-Id", "App-Id", "X-AppId", "X_App_Id", "X-JobsPlatform-App-Id", "JobsPlatform-App-Id", "x-app-id"]
)
gently = settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)


def rows_of(app_id: str | None = None) -> list[Any]:
    found = []
    for model in ROWS:
        rows = model.objects.all() if app_id is None else model.objects.filter(app_id=app_id)
        found.append(sorted(map(str, rows.values())))
    found.append(sorted(map(str, App.objects.values("app_id", "title", "enabled", "services", "quotas"))))
    return found


def recorded() -> int:
    return AuditEvent.objects.filter(action=forged.ACTION).count()


@pytest.fixture
def theirs(music: BusClient, make_job) -> Job:
    music.ok("task_queue.upsert_job", {"job_id": "a"})
    return make_job(state="running", app_id="music", job_type="scan")


def test_every_method_and_every_free_field_has_its_places():
    assert set(PLACES) == set(REQUESTS.methods)
    assert all(PLACES.values())
    assert {path for path, _ in PLACES["jobs.create"]} == {(), ("params",), ("data",)}
    assert ("jobs", 0, "params") in {path for path, _ in PLACES["jobs.create_many"]}
    assert ("filter", "data") in {path for path, _ in PLACES["jobs.query"]}
    assert ("payload",) in {path for path, _ in PLACES["events.emit"]}


@pytest.mark.parametrize("method", PLACES)
def test_in_any_field_it_changes_nothing_and_is_recorded(video: BusClient, theirs: Job, method):
    @gently
    @given(name=names, value=values)
    def check(name: str, value: Any) -> None:
        for path, body in PLACES[method]:
            before, of_theirs, events = rows_of(), rows_of("music"), recorded()
            answer = video.call(method, with_field(body, path, name, value))
            assert recorded() > events, (path, answer.body)
            assert rows_of("music") == of_theirs
            if path and path[-1] in forged.UNREAD:
                assert answer.code != "APP_ID_FORBIDDEN"
            else:
                assert answer.code == "APP_ID_FORBIDDEN", (path, answer.body)
                assert rows_of() == before

    check()


@pytest.mark.parametrize("method", PLACES)
def test_in_any_header_or_the_address_it_is_not_read_but_recorded(video: BusClient, theirs: Job, method):
    body = REQUESTS.sample(REQUESTS.methods[method])
    plain = video.call(method, body)

    @gently
    @given(header=headers)
    def check(header: str) -> None:
        of_theirs, events = rows_of("music"), recorded()
        answer = video.call(method, body, **{header: "music"})
        assert recorded() == events + 1
        assert answer.code in (plain.code, "STATE_CONFLICT")  # the second end of the same work
        assert rows_of("music") == of_theirs

    check()
    events = recorded()
    video.call(f"{method}?app_id=music", body)
    assert recorded() == events + 1


def test_what_is_recorded_says_who_where_and_what(video: BusClient, jobs):
    error = video.refused(
        "APP_ID_FORBIDDEN", "jobs.create", {"job_type": "scan", "params": {"appId": "music"}}
    )
    assert error["details"]["fields"] == [{"field": "params.appId", "problem": "forbidden"}]
    event = AuditEvent.objects.get(action=forged.ACTION)
    assert (event.outcome, event.actor_kind, event.app_id, event.ip) == ("error", "bus", "video", "127.0.0.1")
    assert str(video.token.id) in event.actor
    assert event.after == {"method": "jobs.create", "where": "body.params.appId", "value": "music"}


def test_a_job_made_beside_a_forged_header_is_that_of_the_token(video: BusClient):
    made = video.ok("jobs.create", {"job_type": "scan"}, **{"X-App-Id": "music"})
    assert Job.objects.get(id=made["id"]).app_id == "video"


def test_below_the_top_level_a_name_is_the_apps_own_business(video: BusClient, jobs):
    data = {"game": {"app_id": "440"}}
    made = video.ok("jobs.create", {"job_type": "scan", "data": data})
    assert made["job"]["data"] == data
    assert recorded() == 0
    video.ok("events.emit", {"user_id": "1", "kind": "k", "payload": [{"app_id": ID}]})
    assert recorded() == 0


def test_of_very_many_names_the_first_are_recorded_and_told(video: BusClient):
    body = {"result": {"app_id": 1}, "x": [{"app_id": n} for n in range(500)]}
    error = video.refused("APP_ID_FORBIDDEN", "jobs.create", body)
    assert len(error["details"]["fields"]) == forged.MOST
    events = AuditEvent.objects.filter(action=forged.ACTION)
    assert [(event.error, event.after["of"]) for event in events] == [("refused", 501)] * forged.MOST


def test_an_address_of_very_many_fields_is_refused(video: BusClient):
    query = "&".join(f"a{n}=1" for n in range(1001))
    video.refused("INVALID", f"jobs.query?{query}")
