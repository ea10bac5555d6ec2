"""The first page of the admin: what it shows to whom, and how few statements it takes."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from jobsplatform.dashboard import work
from jobsplatform.kernel import audit, clock, processes
from scheduler import control as schedule_control
from scheduler.spec import ScheduleSpec
from tasks import control
from tasks.models import Job
from tasks.states import Hold, State
from tests.database.admin_support import HOSTILE, build_job, logged_in, make_job

pytestmark = pytest.mark.django_db
ACTOR = audit.Actor.system("test")
PARTS = {
    "tasks.view_job": ("Running jobs", "Queues", "Failed in the last 24 hours"),
    "kernel.view_process": ("Workers",),
    "tasks.view_suspension": ("Suspensions",),
    "scheduler.view_schedule": ("Next slots",),
}


def dashboard(client: Client, **headers: str) -> Any:
    return client.get(reverse("admin:index"), headers=headers)


def headings(page: Any) -> set[str]:
    content = page.content.decode()
    return {name for names in PARTS.values() for name in names if f">{name}" in content}


def fill() -> None:
    now = clock.now()
    worker = processes.register("worker", name="worker-7", now=now, queues=["default"], concurrency=4)
    running = [
        build_job(State.RUNNING, f"run.{n}", worker_id=worker.id, progress_done=1, progress_total=4) for n in range(3)
    ]  # fmt: skip
    Job.objects.bulk_create(
        [*running, *(build_job() for _ in range(5)), build_job(State.FAILED, "mail.send")]
    )
    control.suspend("queue", "default", actor=ACTOR, reason="a new disk")
    spec = ScheduleSpec(id="nightly", job="maintenance.report", cron="0 2 * * *", misfire="run_once")
    schedule_control.create(spec, actor=ACTOR)


def test_it_shows_what_runs_waits_works_and_comes() -> None:
    fill()
    page = dashboard(logged_in(*PARTS))
    text = page.content.decode()
    assert headings(page) == {name for names in PARTS.values() for name in names}
    assert [job["link"].count("run.") for job in page.context["running"]] == [1, 1, 1]
    (queue,) = page.context["queues"]
    assert (queue.name, queue.pending, queue.ready, queue.in_flight) == ("default", 5, 5, 3)
    (worker,) = page.context["workers"]
    assert (worker["name"], worker["busy"], worker["slots"]) == ("worker-7", 3, 4)
    assert "3 of 4 slots busy" in text and "a new disk" in text and "nightly" in text and "mail.send" in text
    assert 'value="25"' in text


@pytest.mark.parametrize("permission", PARTS)
def test_each_part_has_the_permission_of_its_screen(permission: str) -> None:
    fill()
    page = dashboard(logged_in(permission))
    assert headings(page) == set(PARTS[permission])


def test_without_any_permission_nothing_is_asked_or_shown() -> None:
    fill()
    client = logged_in()
    page = dashboard(client)
    assert headings(page) == set() and b"nothing here that you may see" in page.content
    with CaptureQueriesContext(connection) as queries:
        dashboard(client)
    assert not [q["sql"] for q in queries.captured_queries if "tasks_job" in q["sql"]]


def test_whoever_may_not_see_jobs_does_not_listen_to_them() -> None:
    assert b'data-jp-live="[]"' in dashboard(logged_in("kernel.view_process")).content
    assert b"&quot;jobs&quot;" in dashboard(logged_in("tasks.view_job")).content


def test_it_takes_few_statements_however_much_there_is() -> None:
    client = logged_in(*PARTS)
    fill()
    dashboard(client)

    def statements() -> list[str]:
        with CaptureQueriesContext(connection) as queries:
            dashboard(client)
        return [q["sql"] for q in queries.captured_queries if "handlerbinding" not in q["sql"]]

    few = statements()
    now = clock.now()
    for n in range(5):
        processes.register("worker", name=f"w{n}", now=now, queues=["default"])
    Job.objects.bulk_create(build_job(State.RUNNING, f"more.{n}") for n in range(20))
    Job.objects.bulk_create(build_job(State.PENDING, queue=f"q{n}") for n in range(10))
    many = statements()
    # Two of the session and user, two of permissions; the rest are the parts', a few each.
    assert len(few) <= 14, few
    # The failed are counted when there are more than fit.
    assert len(many) <= len(few) + 1, many


def test_counting_stops_at_its_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "CAP", 3)
    Job.objects.bulk_create(build_job() for _ in range(6))
    Job.objects.bulk_create(build_job(State.FAILED) for _ in range(6))
    page = dashboard(logged_in("tasks.view_job"))
    assert "There is more: 3 jobs were counted" in page.content.decode()
    assert str(page.context["failed"]["count"]) == "3+"


def test_old_failures_and_held_jobs_are_told_apart() -> None:
    now = clock.now()
    make_job(State.FAILED, "old", finished_at=now - timedelta(hours=30))
    make_job(State.FAILED, "new", finished_at=now - timedelta(hours=2))
    make_job(State.PENDING, hold=Hold.LATER, due_at=now + timedelta(hours=1))
    page = dashboard(logged_in("tasks.view_job"))
    assert [row["link"].count("new") for row in page.context["failed"]["rows"]] == [1]
    (queue,) = page.context["queues"]
    assert (queue.pending, queue.ready, queue.oldest) == (1, 0, "")


def test_a_stale_worker_says_so_and_a_lost_one_is_not_counted() -> None:
    now = clock.now()
    processes.register("worker", name="stale", now=now - timedelta(seconds=40))
    processes.register("worker", name="long-gone", now=now - timedelta(hours=2))
    page = dashboard(logged_in("kernel.view_process"))
    assert [worker["name"] for worker in page.context["workers"]] == ["stale"]
    assert "stale</span>" in page.context["workers"][0]["state"]


def test_markup_in_names_stays_text() -> None:
    make_job(State.RUNNING, HOSTILE[:60], progress_done=1, progress_total=2, progress_label=HOSTILE)
    control.suspend("queue", "default", actor=audit.Actor(HOSTILE, "user"), reason=HOSTILE)
    page = dashboard(logged_in(*PARTS))
    assert b"<img src=x" not in page.content


def test_its_script_gets_the_part_without_the_frame() -> None:
    fill()
    page = dashboard(logged_in(*PARTS), **{"X-Page-Part": "dashboard"})
    text = page.content.decode()
    assert 'id="dashboard"' in text and "run.0" in text
    assert "<html" not in text and "sidebar" not in text


def test_a_post_changes_nothing_and_strangers_are_sent_to_the_login() -> None:
    assert Client().get(reverse("admin:index")).status_code == 302
    fill()
    before = list(Job.objects.order_by("pk").values())
    logged_in(is_superuser=True).post(reverse("admin:index"), {"action": "cancel"})
    assert list(Job.objects.order_by("pk").values()) == before
