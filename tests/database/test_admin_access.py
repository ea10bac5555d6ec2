"""Who may see and do what in the admin: nothing by default, and only by POST."""

from typing import Any

import pytest
from django.contrib import admin
from django.db import models
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from jobsplatform.kernel import audit, clock, processes
from jobsplatform.kernel.models import App, AppToken, AuditEvent, Process, Tenant
from tasks import control, external
from tasks.bus import bindings
from tasks.models import AppEvent, ExternalJob, HandlerBinding, Job, JobAttempt, Suspension
from tasks.states import State
from tests.database.admin_support import ALL_VIEWS, logged_in, make_attempt, make_job

pytestmark = pytest.mark.django_db
ACTOR = audit.Actor.system("test")
OURS = ("tasks", "kernel")
WATCHED: tuple[type[models.Model], ...] = (
    Job, JobAttempt, Suspension, HandlerBinding, ExternalJob, AppEvent, Process, Tenant, App, AppToken, AuditEvent,
)  # fmt: skip


@pytest.fixture
def rows() -> dict[str, Any]:
    """One record of each model, and one job in each state that a verb could change."""
    jobs = {state: make_job(state) for state in (State.PENDING, State.RUNNING, State.PAUSED, State.FAILED)}
    Tenant.objects.create(tenant_id="acme")
    app, now = App.objects.create(app_id="video"), clock.now()
    wanted = bindings.Wanted("thumbs", "media", transport="http", url="https://media.example/")
    return {
        "job": jobs[State.FAILED],
        "jobs": list(jobs.values()),
        "jobattempt": make_attempt(jobs[State.FAILED]),
        "suspension": control.suspend("all", actor=ACTOR),
        "process": processes.register("worker", name="w", now=clock.now()),
        "tenant": Tenant.objects.get(tenant_id="acme"),
        "app": app,
        "apptoken": AppToken.objects.create(app=app, digest="d", scopes=["jobs:read"], created_at=now),
        "handlerbinding": bindings.register("video", wanted, actor=ACTOR, now=now),
        "externaljob": external.upsert("video", "x", external.Snapshot(title="X"), actor=ACTOR, now=now),
        "appevent": external.tell("video", "u", "k", actor=ACTOR, now=now),
        "auditevent": AuditEvent.objects.latest("pk"),
    }


def state_of_everything() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in WATCHED]


def own_addresses(rows: dict[str, Any]) -> list[str]:
    """Every address of our models in the admin, with a real record in it where one is asked for."""
    found = []
    for pattern in patterns(get_resolver().url_patterns):
        name = pattern.name or ""
        app_label, _, rest = name.partition("_")
        if app_label not in OURS:
            continue
        wanted = pattern.pattern.converters
        arguments: dict[str, Any] = {}
        if "object_id" in wanted:
            arguments["object_id"] = rows[rest.rpartition("_")[0]].pk
        if "name" in wanted:
            arguments["name"] = "cancel"
        found.append(reverse(f"admin:{name}", kwargs=arguments))
    return found


def patterns(under: list[Any]) -> list[URLPattern]:
    flat: list[URLPattern] = []
    for pattern in under:
        if isinstance(pattern, URLResolver):
            flat.extend(patterns(pattern.url_patterns))
        else:
            flat.append(pattern)
    return flat


def test_the_walk_finds_every_screen_and_verb(rows: dict[str, Any]) -> None:
    addresses = own_addresses(rows)
    for part in (
        "/cancel/",
        "/retry/",
        "/resume/",
        "/bulk/",
        "/suspend/",
        "/lift/",
        "/state/",
        "/rows/",
        "/make/",
        "/revoke/",
        "/approve/",
        "/switch/",
        "/change/",
        "/add/",
    ):
        assert any(part in address for address in addresses), part
    screens = {f"/{model._meta.app_label}/{model._meta.model_name}/" for model in WATCHED}
    assert all(any(screen in address for address in addresses) for screen in screens)


def test_a_viewer_changes_nothing_by_any_post(rows: dict[str, Any]) -> None:
    client = logged_in(*ALL_VIEWS)
    before = state_of_everything()
    form = {
        "_selected_action": [str(job.pk) for job in rows["jobs"]],
        "state": "archived",
        "scope": "all",
        "cascade": "1",
        "enabled": "0",
        "url": "https://media.example/",
        "app": "video",
        "app_id": "new",
        "scopes": ["jobs:read"],
    }
    for address in own_addresses(rows):
        for action in (
            "",
            "cancel_selected",
            "retry_selected",
            "resume_selected",
            "delete_selected",
            "no_such",
        ):
            for across in ("0", "1"):
                answer = client.post(
                    address, {**form, "action": action, "select_across": across, "post": "yes"}
                )
                assert answer.status_code == 403, (address, action, answer.status_code)
    assert state_of_everything() == before


def test_a_get_changes_nothing_even_for_a_superuser(rows: dict[str, Any]) -> None:
    client = logged_in(is_superuser=True)
    before = state_of_everything()
    for address in own_addresses(rows):
        answer = client.get(address)
        assert answer.status_code in {200, 302, 403, 405}, (address, answer.status_code)
    assert state_of_everything() == before


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_other_methods_change_nothing(rows: dict[str, Any], method: str) -> None:
    client = logged_in(is_superuser=True)
    before = state_of_everything()
    for address in own_addresses(rows):
        assert getattr(client, method)(address).status_code in {403, 405}, address
    assert state_of_everything() == before


def test_staff_without_permissions_see_nothing(rows: dict[str, Any]) -> None:
    client = logged_in()
    for address in own_addresses(rows):
        assert client.get(address).status_code == 403, address


def test_strangers_are_sent_to_the_login(rows: dict[str, Any]) -> None:
    for address in own_addresses(rows):
        for answer in (Client().get(address), Client().post(address)):
            assert answer.status_code == 302 and "/login/" in answer["Location"], address


def test_a_post_without_csrf_token_is_refused(rows: dict[str, Any]) -> None:
    client = logged_in(is_superuser=True)
    client.handler.enforce_csrf_checks = True
    before = state_of_everything()
    for address in own_addresses(rows):
        assert client.post(address, {"action": "cancel_selected"}).status_code == 403
    assert state_of_everything() == before


@pytest.mark.parametrize(
    ("permission", "allowed"),
    [("tasks.cancel_job", "cancel"), ("tasks.retry_job", "retry"), ("tasks.resume_job", "resume")],
)
def test_each_verb_has_a_permission_of_its_own(rows: dict[str, Any], permission: str, allowed: str) -> None:
    client = logged_in("tasks.view_job", permission)
    for name in ("cancel", "retry", "resume"):
        status = client.post(reverse(f"admin:tasks_job_{name}", args=[rows["job"].pk])).status_code
        assert status == (302 if name == allowed else 403)
        bulk = client.post(
            reverse("admin:tasks_job_changelist"),
            {"action": f"{name}_selected", "_selected_action": [rows["job"].pk]},
        )
        assert bulk.status_code == (302 if name == allowed else 403)


def test_every_model_of_ours_has_a_screen_or_none_on_purpose() -> None:
    shown = {model for model in admin.site._registry if model._meta.app_label in OURS}
    assert shown == set(WATCHED)


@pytest.mark.parametrize(
    "asked",
    ["params__secret=a", "params__secret__startswith=a", "data__k=a", "result=a", "error__contains=a", "pk=a",
     "checkpoint__isnull=1", "traceback__contains=a", "job__params__secret=a", "info__x=1", "after__state=a"]
)  # fmt: skip
def test_a_list_cannot_be_filtered_by_what_it_does_not_show(rows: dict[str, Any], asked: str) -> None:
    """What is found would tell what the hidden columns hold."""
    client = logged_in(*ALL_VIEWS)
    for model in WATCHED:
        address = reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist")
        column = asked.partition("__")[0].partition("=")[0]
        if column == "pk" or column in {field.name for field in model._meta.get_fields()}:
            assert client.get(f"{address}?{asked}").status_code == 400


@pytest.mark.parametrize(
    ("model", "asked"),
    [("kernel_process", "role__exact=worker"), ("kernel_auditevent", "outcome__exact=ok"),
     ("kernel_auditevent", "actor_kind__exact=system"), ("kernel_tenant", "state__exact=active"),
     ("tasks_job", "state=failed&type=a&queue=b&priority=100&tenant=t&app=a")]
)  # fmt: skip
def test_the_filters_of_a_list_work(rows: dict[str, Any], model: str, asked: str) -> None:
    page = logged_in(*ALL_VIEWS).get(f"{reverse(f'admin:{model}_changelist')}?{asked}")
    assert page.status_code == 200
