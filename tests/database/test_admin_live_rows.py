"""What the script of the job list asks: rows by their ids, and whether the list's filters let them in."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from jobsplatform.kernel import clock, processes
from tasks.models import Job
from tasks.states import Hold, Role, State
from tests.database.admin_support import HOSTILE, build_job, logged_in, make_job

pytestmark = pytest.mark.django_db
ROWS = "admin:tasks_job_rows"


@pytest.fixture
def viewer() -> Client:
    return logged_in("tasks.view_job")


def ask(client: Client, *jobs: Any, query: str = "") -> dict[str, dict[str, Any]]:
    ids = ",".join(str(getattr(job, "id", job)) for job in jobs)
    answer = client.get(reverse(ROWS), {"ids": ids, "list": query})
    assert answer.status_code == 200 and "no-store" in answer["Cache-Control"]
    return {row["job"]["id"]: row for row in answer.json()["rows"]}


def test_a_row_says_what_the_feed_does_not(viewer: Client) -> None:
    worker = processes.register("worker", name="worker-7", now=clock.now())
    running = make_job(State.RUNNING, worker_id=worker.id, max_attempts=5)
    held = make_job(State.PENDING, hold=Hold.KEY, params={"secret": 1})
    rows = ask(viewer, running, held)
    first, second = rows[str(running.id)], rows[str(held.id)]
    assert (first["worker"], first["max_attempts"], first["listed"]) == ("worker-7", 5, True)
    assert (second["hold"], second["job"]["status"], second["job"]["params"]) == ("key", "pending", {})


@pytest.mark.parametrize(
    ("query", "fits"),
    [("", True), ("state=pending", True), ("state=failed", False), ("type=:mail.send", True), ("type=:other", False),
     ("queue=default", True), ("q=somebody", True), ("q=nobody", False), ("tenant=acme", False),
     ("created_from=2001-01-01T00:00", True), ("parent=none", False), ("state=pending&state=failed&p=3", True)],
)  # fmt: skip
def test_the_filters_are_those_of_the_list(viewer: Client, query: str, fits: bool) -> None:
    job = make_job(State.PENDING, "mail.send", user_id="somebody")
    assert ask(viewer, job, query=query)[str(job.id)]["listed"] is fits
    if "p=" not in query:
        page = viewer.get(f"{reverse('admin:tasks_job_changelist')}?{query}")
        assert (job.id in [row.id for row in page.context["cl"].result_list]) is fits


def test_a_filter_that_is_wrong_lets_nothing_in_and_leaves_no_message(viewer: Client) -> None:
    job = make_job()
    for query in ("parent=nonsense", "created_from=soon"):
        assert ask(viewer, job, query=query)[str(job.id)]["listed"] is False
    hidden = {"ids": str(job.id), "list": "params__secret=1"}
    assert viewer.get(reverse(ROWS), hidden).status_code == 400
    page = viewer.get(reverse("admin:tasks_job_changelist"))
    assert [str(message) for message in page.context["messages"]] == []


def test_ids_that_are_none_or_gone_are_left_out(viewer: Client) -> None:
    job = make_job()
    assert set(ask(viewer, job, uuid4(), "nonsense", "", HOSTILE)) == {str(job.id)}
    assert ask(viewer) == {}


def test_an_alias_shows_its_leader(viewer: Client) -> None:
    leader = make_job(State.RUNNING, dedupe_key="k", role=Role.LEADER, progress_done=1, progress_total=4)
    alias = make_job(State.PENDING, dedupe_key="k", role=Role.ALIAS, hold=Hold.ALIAS, leader=leader)
    rows = ask(viewer, alias)
    assert set(rows) == {str(alias.id)}
    assert (rows[str(alias.id)]["job"]["status"], rows[str(alias.id)]["job"]["progress"]["pct"]) == (
        "running",
        25.0,
    )
    page = viewer.get(reverse("admin:tasks_job_changelist")).content.decode()
    assert page.count(">running</span>") == 2


def test_queries_do_not_grow_and_the_list_is_not_counted(viewer: Client) -> None:
    def statements(jobs: list[Job]) -> list[str]:
        with CaptureQueriesContext(connection) as queries:
            ask(viewer, *jobs, query="state=pending")
        return [q["sql"] for q in queries.captured_queries if "handlerbinding" not in q["sql"]]

    few = Job.objects.bulk_create(build_job() for _ in range(2))
    statements(few)
    first = statements(few)
    many = statements(Job.objects.bulk_create(build_job() for _ in range(60)))
    assert len(many) == len(first) <= 8
    assert not [sql for sql in many if "COUNT(" in sql.upper() and "tasks_job" in sql]


def test_it_needs_the_permission_of_the_list_and_takes_no_post(viewer: Client) -> None:
    job = make_job()
    for client in (logged_in(), logged_in("tasks.cancel_job")):
        assert client.get(reverse(ROWS), {"ids": str(job.id)}).status_code == 403
    assert viewer.post(reverse(ROWS), {"ids": str(job.id)}).status_code == 403
    assert Client().get(reverse(ROWS)).status_code == 302


def test_where_there_is_no_live_feed_the_pages_are_as_they_were(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make_job()
    addresses = [
        reverse("admin:tasks_job_changelist"),
        reverse("admin:tasks_job_change", args=[job.id]),
        reverse("admin:index"),
    ]
    assert all(b"jp-sign" in viewer.get(address).content for address in addresses)
    monkeypatch.setattr("tasks.admin.live.POLL", "/elsewhere")
    for address in addresses:
        page = viewer.get(address).content
        assert b"jp-sign" not in page and b"tasks/live/list.js" not in page, address
