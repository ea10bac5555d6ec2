"""The list of jobs: what it shows, what it asks of the database, and how it is filtered and searched."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from jobsplatform.kernel import clock, processes
from tasks.admin import known
from tasks.admin.filters import first_id_at
from tasks.admin.paging import AtLeast, CappedPaginator
from tasks.models import Job
from tasks.states import Dedupe, Hold, Priority, Role, State
from tests.database.admin_support import build_job, logged_in, make_job

pytestmark = pytest.mark.django_db
LIST = "admin:tasks_job_changelist"


@pytest.fixture
def viewer() -> Client:
    known.forget()
    return logged_in("tasks.view_job")


def shown(client: Client, **query: Any) -> list[Job]:
    response = client.get(reverse(LIST), query)
    assert response.status_code == 200
    return list(response.context["cl"].result_list)


def test_newest_first_with_state_worker_and_progress(viewer: Client) -> None:
    worker = processes.register("worker", name="worker-7", now=clock.now())
    make_job(State.PENDING, "first")
    make_job(State.RUNNING, "second", worker_id=worker.id, progress_done=3, progress_total=4)
    page = viewer.get(reverse(LIST))
    assert [job.job_type for job in page.context["cl"].result_list] == ["second", "first"]
    text = page.content.decode()
    assert "worker-7" in text and 'value="75"' in text and "running" in text


def test_queries_do_not_grow_with_the_rows_and_read_no_large_column(viewer: Client) -> None:
    def ask() -> list[str]:
        viewer.get(reverse(LIST))  # fills caches
        with CaptureQueriesContext(connection) as queries:
            viewer.get(reverse(LIST))
        # Whether the bindings are looked at depends on how long ago that was.
        return [q["sql"] for q in queries.captured_queries if "handlerbinding" not in q["sql"]]

    worker = processes.register("worker", name="w", now=clock.now())
    make_job(State.RUNNING, worker_id=worker.id)
    leader = make_job(State.PENDING, dedupe_key="k", role=Role.LEADER)
    make_job(State.PENDING, dedupe_key="k", role=Role.ALIAS, hold=Hold.ALIAS, leader=leader)
    few = len(ask())
    Job.objects.bulk_create(build_job(State.RUNNING, worker_id=worker.id) for _ in range(30))
    many = ask()
    assert len(many) == few
    for query in many:
        for column in ("params", "data", "result", "checkpoint", "error"):
            assert f'"{column}"' not in query


def test_an_alias_shows_the_progress_of_its_leader(viewer: Client) -> None:
    leader = make_job(State.RUNNING, dedupe_key="k", role=Role.LEADER, progress_done=1, progress_total=5)
    make_job(
        State.PENDING, dedupe_key="k", role=Role.ALIAS, hold=Hold.ALIAS, leader=leader, dedupe=Dedupe.ALIAS
    )
    assert viewer.get(reverse(LIST)).content.decode().count('value="20"') == 2


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"state": "failed"}, {"b"}),
        ({"state": ["failed", "paused"]}, {"b", "c"}),
        ({"type": "video:c"}, {"c"}),
        ({"app": "video"}, {"c"}),
        ({"app": "(host)"}, {"a", "b"}),
        ({"queue": "mail"}, {"b"}),
        ({"priority": "background"}, {"a"}),
        ({"priority": "normal"}, {"b"}),
        ({"priority": "urgent"}, {"c"}),
        ({"tenant": "acme"}, {"a"}),
        ({"tenant": "acm"}, set()),
        ({"state": "failed", "queue": "default"}, set()),
        ({"priority": "no such"}, {"a", "b", "c"}),
        ({"parent": "no id"}, set()),
        ({"created_from": "yesterday"}, set()),
    ],
)
def test_filters(viewer: Client, query: dict[str, Any], expected: set[str]) -> None:
    make_job(State.PENDING, "a", priority=Priority.BACKGROUND, tenant_id="acme")
    make_job(State.FAILED, "b", queue="mail", priority=Priority.NORMAL + 5)
    make_job(State.PAUSED, "c", app_id="video", priority=Priority.URGENT)
    assert {job.job_type for job in shown(viewer, **query)} == expected


def test_created_between_two_times_of_the_site(viewer: Client) -> None:
    job = make_job()
    made_ms = job.id.int >> 80
    moment = timezone.localtime(clock.now()).replace(microsecond=0)

    def written(shift: timedelta) -> str:
        return (moment + shift).strftime("%Y-%m-%dT%H:%M:%S")

    minute = timedelta(minutes=1)
    assert shown(viewer, created_from=written(-minute), created_to=written(minute)) == [job]
    assert shown(viewer, created_from=written(minute)) == []
    assert shown(viewer, created_to=written(-minute)) == []
    assert first_id_at(moment).int >> 80 <= made_ms + 1000


def test_children_of_a_parent(viewer: Client) -> None:
    parent = make_job(State.WAITING)
    child = make_job(State.PENDING, parent=parent, child_key="1")
    assert shown(viewer, parent=str(parent.id)) == [child]


@pytest.mark.parametrize("field", ["user_id", "dedupe_key", "schedule_id"])
def test_search_is_exact(viewer: Client, field: str) -> None:
    wanted = make_job(**{field: "Some thing"})
    make_job(**{field: "Some thing else"})
    assert shown(viewer, q="Some thing") == [wanted]
    assert shown(viewer, q=" Some thing ") == [wanted]
    assert shown(viewer, q="Some") == []


def test_search_by_id_in_any_spelling(viewer: Client) -> None:
    wanted, _ = make_job(), make_job()
    for spelling in (str(wanted.id), str(wanted.id).upper(), wanted.id.hex):
        assert shown(viewer, q=spelling) == [wanted]


@pytest.mark.parametrize("term", ["%", "_", "' OR 1=1 --", "x" * 2000, "\ud83d"])
def test_search_for_nonsense_finds_nothing(viewer: Client, term: str) -> None:
    make_job(user_id="somebody", dedupe_key="k", schedule_id="s")
    assert shown(viewer, q=term.encode("utf-8", "replace").decode()) == []


def test_a_search_that_no_row_can_match_is_told(viewer: Client) -> None:
    assert b"Null characters are not allowed" in viewer.get(reverse(LIST), {"q": "\x00"}).content


def test_the_count_stops_at_its_cap(viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.admin.paging.CAP", 3)
    Job.objects.bulk_create(build_job() for _ in range(5))
    count = CappedPaginator(Job.objects.order_by("-id"), 50).count
    assert isinstance(count, AtLeast) and count == 3
    assert "3+ jobs" in " ".join(viewer.get(reverse(LIST)).content.decode().split())


def test_the_count_is_exact_below_its_cap(viewer: Client) -> None:
    Job.objects.bulk_create(build_job() for _ in range(55))
    text = " ".join(viewer.get(reverse(LIST)).content.decode().split())
    assert "55 jobs" in text and "55+ jobs" not in text


def test_fifty_a_page(viewer: Client) -> None:
    Job.objects.bulk_create(build_job() for _ in range(55))
    assert len(shown(viewer)) == 50 and len(shown(viewer, p=2)) == 5


def test_known_names_are_read_by_hops() -> None:
    known.forget()
    for app_id, job_type in (("", "a"), ("", "a"), ("video", "b"), ("", "c")):
        make_job(State.PENDING, job_type, app_id=app_id)
    assert {":a", ":c", "video:b"} <= set(known.handler_keys())
    assert {"", "video"} <= set(known.apps())
