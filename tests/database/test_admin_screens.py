"""Suspensions, processes, tenants, apps and the audit trail in the admin."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobsplatform.kernel import audit, clock, processes
from jobsplatform.kernel.models import App, AuditEvent, Tenant
from tasks import control
from tasks.admin import known
from tasks.models import Job, Suspension
from tasks.states import State
from tests.database.admin_support import HOSTILE, logged_in, make_job, messages_of

pytestmark = pytest.mark.django_db
ACTOR = audit.Actor.system("test")


# -- suspensions -------------------------------------------------------------------------------------


@pytest.fixture
def operator() -> Client:
    return logged_in(
        "tasks.view_suspension", "tasks.suspend", "kernel.view_tenant", "kernel.change_tenant", username="ann"
    )


def suspend(client: Client, **form: Any) -> Any:
    return client.post(reverse("admin:tasks_suspension_suspend"), form, follow=True)


def test_suspend_and_lift(operator: Client) -> None:
    known.forget()
    make_job(job_type="demo.report")
    until = timezone.localtime(clock.now() + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M")
    page = suspend(operator, scope="type", target="demo.report", reason="broken", expires_at=until)
    assert messages_of(page) == ["Suspended: type demo.report."]
    made = Suspension.objects.get()
    assert (made.scope, made.target, made.reason, made.author, made.interrupt) == (
        "type",
        ":demo.report",
        "broken",
        "ann",
        False,
    )
    assert made.expires_at is not None and made.expires_at > clock.now()
    lifted = operator.post(reverse("admin:tasks_suspension_lift", args=[made.pk]), follow=True)
    assert "Lifted: type demo.report" in messages_of(lifted)[0]
    made.refresh_from_db()
    assert made.lifted_by == "ann"
    assert {"suspend", "unsuspend"} <= set(AuditEvent.objects.values_list("action", flat=True))


def test_everything_and_interrupt(operator: Client) -> None:
    running = make_job(State.RUNNING)
    suspend(operator, scope="all", interrupt="on")
    assert Suspension.objects.get().interrupt
    running.refresh_from_db()
    assert running.cancel_reason == "suspended"


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"scope": "type", "target": "demo.reprot"}, "demo.report"),
        ({"scope": "queue", "target": "defualt"}, "default"),
        ({"scope": "app", "target": "vidoe"}, "video"),
        ({"scope": "queue"}, "Name the queue"),
        ({"scope": "all", "target": "default"}, "Leave it empty"),
        ({"scope": "everything"}, "valid choice"),
        ({"scope": "all", "expires_at": "2001-01-01T00:00"}, "still to come"),
        ({"scope": "all", "expires_at": "tomorrow"}, "valid date"),
        ({"scope": "queue", "target": HOSTILE}, "Unknown queue"),
        ({"scope": "all", "reason": "x" * 501}, "at most 500"),
    ],
)
def test_what_is_wrong_is_said_at_the_field_and_nothing_is_stored(
    operator: Client, form: dict[str, str], told: str
) -> None:
    known.forget()
    make_job(job_type="demo.report")
    App.objects.create(app_id="video")
    text = suspend(operator, **form).content.decode()
    assert told in text and "<img src=x" not in text
    assert not Suspension.objects.exists()


def test_lifting_twice_is_harmless(operator: Client) -> None:
    made = control.suspend("all", actor=ACTOR)
    address = reverse("admin:tasks_suspension_lift", args=[made.pk])
    operator.post(address)
    assert "not in force" in messages_of(operator.post(address, follow=True))[-1]
    assert (
        "not in force"
        in messages_of(operator.post(reverse("admin:tasks_suspension_lift", args=[10**9]), follow=True))[0]
    )


def test_the_list_tells_what_is_in_force(operator: Client) -> None:
    now = clock.now()
    control.suspend("queue", "default", actor=ACTOR, reason=HOSTILE)
    control.suspend("all", actor=ACTOR)
    control.unsuspend("all", actor=ACTOR)
    Suspension.objects.create(
        scope="queue", target="old", author="x", created_at=now, expires_at=now - timedelta(1)
    )
    address = reverse("admin:tasks_suspension_changelist")
    text = operator.get(address).content.decode()
    assert all(word in text for word in ("in force", "lifted", "expired")) and "<img src=x" not in text
    assert len(operator.get(address, {"open": "1"}).context["cl"].result_list) == 1
    assert len(operator.get(address, {"open": "0"}).context["cl"].result_list) == 2


def test_only_who_may_suspend_sees_the_button() -> None:
    address = reverse("admin:tasks_suspension_changelist")
    form = reverse("admin:tasks_suspension_suspend")
    assert form not in logged_in("tasks.view_suspension").get(address).content.decode()
    assert form in logged_in("tasks.view_suspension", "tasks.suspend").get(address).content.decode()


# -- processes ---------------------------------------------------------------------------------------


def test_processes_live_stale_lost_and_stopped() -> None:
    now = clock.now()
    busy = processes.register(
        "worker", name="busy", now=now, queues=["default"], concurrency=4, handlers=[":a"]
    )
    make_job(State.RUNNING, worker_id=busy.id)
    silent = processes.register("worker", name="silent", now=now - timedelta(minutes=5))
    lost = processes.register("worker", name="gone", now=now - timedelta(minutes=5))
    processes.declare_lost(lost.id, now, silent_since=now)
    stopped = processes.register("web", name="over", now=now)
    processes.stop(stopped.id, now)
    client = logged_in("kernel.view_process")
    page = client.get(reverse("admin:kernel_process_changelist"))
    shown = {row.name: row for row in page.context["cl"].result_list}
    assert shown["busy"].busy == 1
    text = page.content.decode()
    assert "1 of 4" in text and all(f">{word}<" in text for word in ("live", "stale", "lost", "stopped"))
    detail = client.get(reverse("admin:kernel_process_change", args=[silent.pk])).content.decode()
    assert "stale" in detail and str(silent.pk) in detail


# -- tenants, apps, audit ----------------------------------------------------------------------------


def test_a_tenants_state_is_changed_through_control(operator: Client) -> None:
    Tenant.objects.create(tenant_id="a/b c", title=HOSTILE)
    address = reverse("admin:kernel_tenant_state", args=["a/b c"])
    operator.post(address, {"state": "suspended"})
    assert Tenant.objects.get().state == "suspended"
    assert AuditEvent.objects.filter(action="tenant.state", actor="ann").exists()
    assert "suspendet" in messages_of(operator.post(address, {"state": "suspendet"}, follow=True))[-1]
    page = operator.get(reverse("admin:kernel_tenant_changelist")).content.decode()
    assert "suspended" in page and "<img src=x" not in page


def test_a_tenant_that_is_not_there_is_not_made(operator: Client) -> None:
    told = operator.post(
        reverse("admin:kernel_tenant_state", args=["nobody"]), {"state": "archived"}, follow=True
    )
    assert "No tenant" in messages_of(told)[0] and not Tenant.objects.exists()


def test_apps_are_shown() -> None:
    app = App.objects.create(
        app_id="video", title=HOSTILE, enabled=False, services=["scrape"], quotas={"create": 5}
    )
    client = logged_in("kernel.view_app")
    text = client.get(reverse("admin:kernel_app_changelist")).content.decode()
    text += client.get(reverse("admin:kernel_app_change", args=[app.pk])).content.decode()
    assert "disabled" in text and "scrape" in text and "<img src=x" not in text


def test_the_audit_trail_shows_changes_and_is_searched_exactly() -> None:
    job = make_job()
    control.cancel(job.id, actor=audit.Actor(HOSTILE, "user", ip="10.0.0.7"))
    audit.record("something.else", "thing", "7", actor=ACTOR)
    client = logged_in("kernel.view_auditevent")
    address = reverse("admin:kernel_auditevent_changelist")
    everything = client.get(address)
    assert len(everything.context["cl"].result_list) == 2 and b"<img src=x" not in everything.content
    for term in (str(job.id), "job.cancel"):
        assert [e.action for e in client.get(address, {"q": term}).context["cl"].result_list] == [
            "job.cancel"
        ]
    assert not client.get(address, {"q": "job"}).context["cl"].result_list
    event = AuditEvent.objects.get(action="job.cancel")
    text = client.get(reverse("admin:kernel_auditevent_change", args=[event.pk])).content.decode()
    assert "pending" in text and "10.0.0.7" in text and "<img src=x" not in text


def test_history_leads_to_the_audit_trail() -> None:
    job = make_job()
    answer = logged_in("tasks.view_job").get(reverse("admin:tasks_job_history", args=[job.pk]))
    assert answer["Location"].endswith(f"/admin/kernel/auditevent/?q={job.pk}")


def test_instants_are_shown_in_the_sites_zone_with_its_label(settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Kolkata"
    job = make_job(State.COMPLETED)
    Job.objects.filter(pk=job.pk).update(created_at="2026-03-01T20:00:00Z")
    with timezone.override("Asia/Kolkata"):
        text = (
            logged_in("tasks.view_job").get(reverse("admin:tasks_job_change", args=[job.pk])).content.decode()
        )
    assert "2026-03-02 01:30:00" in text and "IST" in text


def test_the_index_lists_only_what_one_may_see() -> None:
    text = logged_in("tasks.view_job").get(reverse("admin:index")).content.decode()
    assert reverse("admin:tasks_job_changelist") in text
    assert reverse("admin:kernel_auditevent_changelist") not in text
