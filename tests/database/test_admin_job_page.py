"""The page of one job: what it shows to whom, and its buttons."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from jobsplatform.kernel import clock
from jobsplatform.kernel.models import AuditEvent
from tasks.models import Job
from tasks.states import CancelReason, Hold, Role, State
from tests.database.admin_support import HOSTILE, logged_in, make_attempt, make_job, messages_of

pytestmark = pytest.mark.django_db
VERBS = ("tasks.view_job", "tasks.cancel_job", "tasks.retry_job", "tasks.resume_job")


def page(client: Client, job: Job) -> str:
    response = client.get(reverse("admin:tasks_job_change", args=[job.id]))
    assert response.status_code == 200
    return str(response.content.decode())


def press(client: Client, verb: str, job_id: object, **fields: str) -> list[str]:
    response = client.post(reverse(f"admin:tasks_job_{verb}", args=[job_id]), fields, follow=True)
    assert response.status_code == 200
    return messages_of(response)


def test_facts_attempts_and_tracebacks() -> None:
    job = make_job(State.FAILED, user_id="u-1", queue="mail", error="disk full")
    make_attempt(
        job,
        1,
        "fail",
        cause="handler",
        error_type="OSError",
        error="disk full",
        traceback="Traceback: line 7",
    )
    text = page(logged_in("tasks.view_job"), job)
    for part in (str(job.id), "u-1", "mail", "disk full", "OSError", "Traceback: line 7", "UTC"):
        assert part in text


def test_why_it_is_not_running() -> None:
    now = clock.now()
    job = make_job(State.PENDING, hold=Hold.LATER, due_at=now + timedelta(hours=1))
    text = page(logged_in("tasks.view_job"), job)
    assert "Why is it not running?" in text and "scheduled for later" in text


def test_payload_needs_its_own_permission() -> None:
    job = make_job(
        State.COMPLETED, params={"card": "4111"}, data={"note": "private-note"}, result={"sum": "private-sum"}
    )
    hidden = page(logged_in("tasks.view_job"), job)
    assert not any(secret in hidden for secret in ("4111", "private-note", "private-sum"))
    shown = page(logged_in("tasks.view_job", "tasks.view_payload"), job)
    assert all(secret in shown for secret in ("4111", "private-note", "private-sum"))


def test_a_checkpoint_is_payload_too() -> None:
    job = make_job(State.PENDING, checkpoint={"at": "private-cursor"})
    assert "private-cursor" not in page(logged_in("tasks.view_job"), job)
    assert "private-cursor" in page(logged_in("tasks.view_job", "tasks.view_payload"), job)


def test_markup_is_escaped_everywhere() -> None:
    job = make_job(
        State.FAILED, HOSTILE, queue=HOSTILE, reason=HOSTILE, error=HOSTILE, error_type=HOSTILE, user_id=HOSTILE,
        dedupe_key=HOSTILE, concurrency_key=HOSTILE, schedule_id=HOSTILE, progress_label=HOSTILE, progress_done=1,
        progress_total=2, params={HOSTILE: HOSTILE}, data={"x": [HOSTILE]}, result=HOSTILE, checkpoint=HOSTILE,
        tenant_id=HOSTILE, request_id=HOSTILE,
    )  # fmt: skip
    make_attempt(job, reason=HOSTILE, error=HOSTILE, error_type=HOSTILE, traceback=HOSTILE, worker=HOSTILE)
    make_job(State.PENDING, HOSTILE, parent=job, child_key=HOSTILE)
    client = logged_in(is_superuser=True)
    for address in (
        reverse("admin:tasks_job_change", args=[job.id]),
        reverse("admin:tasks_job_changelist"),
        reverse("admin:tasks_job_changelist") + "?q=%3Cimg%20src%3Dx%3E&tenant=%3C/script%3E",
        reverse("admin:tasks_jobattempt_changelist"),
        reverse("admin:tasks_jobattempt_change", args=[job.attempts.get().pk]),
    ):
        text = client.get(address).content.decode()
        assert "<img src=x" not in text, address
        assert "&lt;img src=x" in text, address


def test_children_and_aliases_are_linked() -> None:
    parent = make_job(State.WAITING)
    done = make_job(State.COMPLETED, parent=parent, child_key="a")
    open_child = make_job(State.PENDING, parent=parent, child_key="b")
    alias = make_job(State.PENDING, role=Role.ALIAS, dedupe_key="k", hold=Hold.ALIAS, leader=parent)
    text = page(logged_in("tasks.view_job"), parent)
    assert "1 of 2 ended" in " ".join(text.split())
    for other in (done, open_child, alias):
        assert reverse("admin:tasks_job_change", args=[other.id]) in text
    assert str(parent.id) in page(logged_in("tasks.view_job"), done)


@pytest.mark.parametrize(
    ("state", "offered"),
    [
        (State.PENDING, {"cancel"}),
        (State.RUNNING, {"cancel"}),
        (State.PAUSED, {"cancel", "resume"}),
        (State.FAILED, {"retry"}),
        (State.CANCELLED, {"retry"}),
        (State.COMPLETED, set()),
    ],
)
def test_only_the_verbs_that_make_sense_are_offered(state: State, offered: set[str]) -> None:
    text = page(logged_in(*VERBS), make_job(state))
    assert {verb for verb in ("cancel", "retry", "resume") if f"/{verb}/" in text} == offered
    assert "/cancel/" not in page(logged_in("tasks.view_job"), make_job(state))


def test_cancel_tells_what_happened_and_is_audited() -> None:
    client = logged_in(*VERBS, username="ann")
    pending, running, done = make_job(), make_job(State.RUNNING), make_job(State.COMPLETED)
    assert press(client, "cancel", pending.id) == ["Cancelled."]
    assert "Asked to stop" in press(client, "cancel", running.id)[0]
    assert "already been asked" in press(client, "cancel", running.id)[0]
    assert "already ended" in press(client, "cancel", done.id)[0]
    pending.refresh_from_db()
    running.refresh_from_db()
    assert (pending.state, running.state, running.cancel_reason) == (
        State.CANCELLED,
        State.RUNNING,
        CancelReason.USER,
    )
    event = AuditEvent.objects.get(target_id=str(pending.id))
    assert (event.actor, event.actor_kind, event.action, event.ip) == (
        "ann",
        "user",
        "job.cancel",
        "127.0.0.1",
    )


def test_cancel_with_children_reaches_them() -> None:
    parent = make_job(State.WAITING)
    child = make_job(State.PENDING, parent=parent, child_key="a")
    press(logged_in(*VERBS), "cancel", parent.id, cascade="1")
    child.refresh_from_db()
    assert child.state == State.CANCELLED


def test_cancel_without_children_leaves_them() -> None:
    parent = make_job(State.WAITING)
    child = make_job(State.PENDING, parent=parent, child_key="a")
    press(logged_in(*VERBS), "cancel", parent.id)
    child.refresh_from_db()
    assert child.state == State.PENDING


def test_retry_and_resume() -> None:
    client = logged_in(*VERBS)
    failed, paused = make_job(State.FAILED), make_job(State.PAUSED)
    assert press(client, "retry", failed.id) == ["It will run again."]
    assert "Resumed" in press(client, "resume", paused.id)[0]
    for job in (failed, paused):
        job.refresh_from_db()
        assert job.state == State.PENDING


def test_a_verb_that_comes_too_late_says_why_and_changes_nothing() -> None:
    client = logged_in(*VERBS)
    job = make_job(State.COMPLETED)
    assert "completed" in press(client, "retry", job.id)[0]
    assert "not paused" in press(client, "resume", job.id)[0]
    job.refresh_from_db()
    assert job.state == State.COMPLETED


@pytest.mark.parametrize("job_id", [str(uuid4()), "nonsense", "1"])
@pytest.mark.parametrize("verb", ["cancel", "retry", "resume"])
def test_a_job_that_is_not_there_is_said_so(job_id: str, verb: str) -> None:
    assert len(press(logged_in(*VERBS), verb, job_id)) == 1


@pytest.mark.parametrize("job_id", [str(uuid4()), "nonsense"])
def test_the_page_of_no_job_leads_home(job_id: str) -> None:
    response = logged_in("tasks.view_job").get(f"/admin/tasks/job/{job_id}/change/", follow=True)
    assert "doesn’t exist" in messages_of(response)[0]
