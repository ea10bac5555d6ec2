"""Verbs on many jobs: a selection on the page, and everything that the filters match."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tasks.admin import bulk
from tasks.models import Job
from tasks.states import State
from tests.database.admin_support import build_job, logged_in, make_job, messages_of

pytestmark = pytest.mark.django_db
LIST = "admin:tasks_job_changelist"


@pytest.fixture
def operator() -> Client:
    return logged_in("tasks.view_job", "tasks.cancel_job", "tasks.retry_job", "tasks.resume_job")


def act(client: Client, name: str, jobs: list[Job], query: str = "", across: bool = False) -> Any:
    form = {
        "action": f"{name}_selected",
        "_selected_action": [str(job.pk) for job in jobs],
        "select_across": "1" if across else "0",
    }
    return client.post(reverse(LIST) + query, form, follow=True)


def states() -> dict[str, int]:
    found: dict[str, int] = {}
    for state in Job.objects.values_list("state", flat=True):
        found[state] = found.get(state, 0) + 1
    return found


def test_a_selection_is_cancelled_and_told(operator: Client) -> None:
    jobs = [make_job(), make_job(), make_job(State.RUNNING), make_job(State.COMPLETED)]
    untouched = make_job()
    told = messages_of(act(operator, "cancel", jobs))[0]
    assert "4 jobs looked at" in told
    for part in ("2 cancelled", "1 asked to stop", "1 already ended"):
        assert part in told
    untouched.refresh_from_db()
    assert untouched.state == State.PENDING
    assert states() == {"cancelled": 2, "running": 1, "completed": 1, "pending": 1}


def test_each_row_of_a_retry_is_checked(operator: Client) -> None:
    told = messages_of(
        act(operator, "retry", [make_job(State.FAILED), make_job(State.RUNNING), make_job(State.RUNNING)])
    )[0]
    assert "1 will run again" in told and "2 left alone" in told and "2×" in told
    assert states() == {"pending": 1, "running": 2}


def test_resume(operator: Client) -> None:
    told = messages_of(act(operator, "resume", [make_job(State.PAUSED), make_job()]))[0]
    assert "1 resumed" in told and "1 left alone" in told


def test_everything_that_the_filters_match_and_nothing_else(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "SLICE_SECONDS", 600.0)
    Job.objects.bulk_create(build_job(queue="mail") for _ in range(120))
    others = [make_job(), make_job(State.COMPLETED, queue="mail"), make_job(queue="mail", job_type="other")]
    response = act(
        operator,
        "cancel",
        [Job.objects.filter(queue="mail").latest("id")],
        "?queue=mail&type=:demo.report",
        across=True,
    )
    assert "120 jobs looked at: 120 cancelled" in messages_of(response)[0]
    for job in others:
        before = job.state
        job.refresh_from_db()
        assert job.state == before


def test_many_are_worked_off_in_slices(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "SLICE_SECONDS", 0.0)  # a slice ends before its first batch
    monkeypatch.setattr(bulk, "BATCH", 10)
    Job.objects.bulk_create(build_job() for _ in range(25))
    page = act(operator, "cancel", [Job.objects.latest("id")], across=True)
    late = make_job()
    assert b"so far" in page.content and states() == {"pending": 26}
    monkeypatch.setattr(bulk, "SLICE_SECONDS", 60.0)
    done = operator.post(page.context["next_url"], {"progress": page.context["progress"]}, follow=True)
    assert "25 jobs looked at: 25 cancelled" in messages_of(done)[0]
    late.refresh_from_db()
    assert late.state == State.PENDING, "it was made after the operator chose"


def test_slices_go_on_from_where_the_last_one_stopped(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "BATCH", 10)
    ticks = iter(range(1000))
    monkeypatch.setattr(bulk.clock, "monotonic", lambda: float(next(ticks)))
    monkeypatch.setattr(bulk, "SLICE_SECONDS", 1.5)  # by this clock: one batch a slice
    Job.objects.bulk_create(build_job() for _ in range(25))
    page = act(operator, "cancel", [Job.objects.latest("id")], across=True)
    seen = [states().get("cancelled", 0)]
    while "progress" in (page.context or {}):
        page = operator.post(page.context["next_url"], {"progress": page.context["progress"]}, follow=True)
        seen.append(states().get("cancelled", 0))
    assert seen == [10, 20, 25]
    assert "25 jobs looked at: 25 cancelled" in messages_of(page)[0]


@pytest.mark.parametrize("progress", ["", "forged", "eyJxdWVyeSI6ICIifQ:1abc:xyz"])
def test_a_forged_slice_does_nothing(operator: Client, progress: str) -> None:
    make_job()
    response = operator.post(
        reverse("admin:tasks_job_bulk", args=["cancel"]), {"progress": progress}, follow=True
    )
    assert "nothing more was done" in messages_of(response)[0]
    assert states() == {"pending": 1}


def test_a_slice_of_one_verb_is_no_slice_of_another(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "SLICE_SECONDS", 0.0)
    job = make_job(State.PAUSED)
    page = act(operator, "resume", [job], across=True)
    operator.post(
        reverse("admin:tasks_job_bulk", args=["cancel"]), {"progress": page.context["progress"]}, follow=True
    )
    assert states() == {"paused": 1}


def test_no_such_verb(operator: Client) -> None:
    assert operator.post(reverse("admin:tasks_job_bulk", args=["explode"])).status_code == 404


def test_nothing_to_do_is_said(operator: Client) -> None:
    response = act(operator, "resume", [make_job(State.COMPLETED)], across=True)
    assert messages_of(response) == ["Nothing done: no job was in a state for it."]


def test_a_filter_that_is_wrong_selects_nothing(operator: Client) -> None:
    job = make_job()
    act(operator, "cancel", [job], "?created_from=yesterday", across=True)
    assert states() == {"pending": 1}
