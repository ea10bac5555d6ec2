"""Who may see and do what on the schedules' pages: nothing by default, only by POST."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.db import models
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from jobsplatform.kernel import clock
from jobsplatform.kernel.models import AuditEvent
from jobsplatform.testing.platform import HandPlatform
from scheduler import backfill, pauses
from scheduler.models import Backfill, Pause, Schedule, ScheduleState, ScheduleTriggerLog
from tasks.handlers import job
from tasks.models import Job
from tests.database.scheduler.admin_support import ALL_VERBS, ALL_VIEWS, address, logged_in
from tests.database.scheduler.tools import ACTOR, at, create, turn

pytestmark = pytest.mark.django_db
OURS: tuple[type[models.Model], ...] = (Schedule, ScheduleState, ScheduleTriggerLog, Pause, Backfill)
WATCHED = (*OURS, Job, AuditEvent)


@pytest.fixture
def rows(jobs: HandPlatform) -> dict[str, Any]:
    @job("tests.work")
    def handler() -> None: ...

    create("s")
    create("gone", cron="0 0 * * *")
    turn(jobs, at(12, 3))
    now = clock.now()
    return {
        "schedule": Schedule.objects.get(id="s"),
        "schedulestate": ScheduleState.objects.get(schedule_id="s"),
        "scheduletriggerlog": ScheduleTriggerLog.objects.filter(schedule_id="s").first(),
        "pause": pauses.pause("schedule", "gone", actor=ACTOR),
        "backfill": backfill.start("s", now - timedelta(hours=2), now, "all", actor=ACTOR),
    }


def state_of_everything() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in WATCHED]


def own_addresses(rows: dict[str, Any]) -> list[str]:
    """Every address of our models in the admin, with a real record in it where one is asked for."""
    found = []
    for pattern in _flat(get_resolver().url_patterns):
        name = pattern.name or ""
        app_label, _, rest = name.partition("_")
        if app_label != "scheduler":
            continue
        wanted = pattern.pattern.converters
        arguments: dict[str, Any] = {}
        if "object_id" in wanted:
            arguments["object_id"] = rows[rest.rpartition("_")[0]].pk
        if "name" in wanted:
            arguments["name"] = "pause"
        found.append(reverse(f"admin:{name}", kwargs=arguments))
    return found


def _flat(under: list[Any]) -> list[URLPattern]:
    flat: list[URLPattern] = []
    for pattern in under:
        flat.extend(_flat(pattern.url_patterns) if isinstance(pattern, URLResolver) else [pattern])
    return flat


VERBS = ("run", "pause", "resume", "skip", "unskip", "edit", "archive", "restore", "remove", "backfill")


def test_the_walk_finds_every_screen_and_verb(rows: dict[str, Any]) -> None:
    addresses = own_addresses(rows)
    for part in (*VERBS, "lift", "cancel", "add", "change", "-/bulk/pause"):
        assert any(f"/{part}/" in one for one in addresses), part
    assert {model for model in admin.site._registry if model._meta.app_label == "scheduler"} == set(OURS)


FORM = {
    "_selected_action": ["s", "gone"], "id": "new", "job": "tests.work", "kind": "manual", "revision": "1",
    "key": "k", "after": "2026-01-01T10:00", "until": "2026-01-01T12:00", "mode": "all", "concurrency": "1",
    "resume_rule": "drop", "scope": "all",
}  # fmt: skip


def test_a_viewer_changes_nothing_by_any_post(rows: dict[str, Any]) -> None:
    client = logged_in(*ALL_VIEWS, "tasks.view_payload")
    before = state_of_everything()
    for one in own_addresses(rows):
        for act in ("", "pause_selected", "resume_selected", "delete_selected", "no_such"):
            for across in ("0", "1"):
                answer = client.post(one, {**FORM, "action": act, "select_across": across, "post": "yes"})
                assert answer.status_code == 403, (one, act, answer.status_code)
    assert state_of_everything() == before


def test_a_viewer_sees_no_form(rows: dict[str, Any]) -> None:
    client = logged_in(*ALL_VIEWS)
    for verb in VERBS:
        assert client.get(address(verb)).status_code == 403, verb
    page = client.get(address("change")).content.decode()
    assert all(address(verb) not in page for verb in VERBS)


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete", "head"])
def test_nothing_but_a_post_changes_anything(rows: dict[str, Any], method: str) -> None:
    client = logged_in(is_superuser=True)
    before = state_of_everything()
    for one in own_addresses(rows):
        answer = getattr(client, method)(one)
        assert answer.status_code in {200, 302, 403, 405}, (one, answer.status_code)
    assert state_of_everything() == before


def test_staff_without_permissions_see_nothing(rows: dict[str, Any]) -> None:
    client = logged_in()
    for one in own_addresses(rows):
        assert client.get(one).status_code == 403, one


def test_strangers_are_sent_to_the_login(rows: dict[str, Any]) -> None:
    before = state_of_everything()
    for one in own_addresses(rows):
        for answer in (Client().get(one), Client().post(one, FORM)):
            assert answer.status_code == 302 and "/login/" in answer["Location"], one
    assert state_of_everything() == before


def test_a_post_without_csrf_token_is_refused(rows: dict[str, Any]) -> None:
    client = logged_in(is_superuser=True)
    client.handler.enforce_csrf_checks = True
    before = state_of_everything()
    for one in own_addresses(rows):
        assert client.post(one, {**FORM, "action": "pause_selected"}).status_code == 403
    assert state_of_everything() == before


@pytest.mark.parametrize(
    ("permission", "allowed"),
    [
        ("change_schedule", {"edit", "archive", "restore"}), ("delete_schedule", {"remove"}),
        ("pause_schedule", {"pause", "resume"}), ("run_schedule", {"run"}), ("skip_schedule", {"skip", "unskip"}),
        ("backfill_schedule", {"backfill"}), ("add_schedule", set()), ("pause_all_schedules", set()),
    ],
)  # fmt: skip
def test_each_verb_has_a_permission_of_its_own(
    rows: dict[str, Any], permission: str, allowed: set[str]
) -> None:
    client = logged_in("scheduler.view_schedule", f"scheduler.{permission}")
    done = {verb for verb in VERBS if client.post(address(verb, "gone"), {"after": "x"}).status_code != 403}
    assert done == allowed
    scoped = client.post(reverse("admin:scheduler_pause_pause"), {"scope": "all", "resume_rule": "drop"})
    assert (scoped.status_code != 403) == (permission == "pause_all_schedules")
    assert Pause.objects.filter(scope="all").exists() == (permission == "pause_all_schedules")
    added = client.post(reverse("admin:scheduler_schedule_add"), FORM)
    assert (added.status_code != 403) == (permission == "add_schedule")
    lifted = client.post(reverse("admin:scheduler_pause_lift", args=[rows["pause"].pk]))
    assert (lifted.status_code != 403) == (permission == "pause_schedule")
    cancelled = client.post(reverse("admin:scheduler_backfill_cancel", args=[rows["backfill"].pk]))
    assert (cancelled.status_code != 403) == (permission == "backfill_schedule")


def test_who_may_pause_all_but_no_single_schedule(rows: dict[str, Any]) -> None:
    client = logged_in("scheduler.view_pause", "scheduler.pause_all_schedules")
    form = {"scope": "schedule", "target": "s", "resume_rule": "drop"}
    assert client.post(reverse("admin:scheduler_pause_pause"), form).status_code == 403
    assert not Pause.objects.filter(target="s").exists()


@pytest.mark.parametrize("asked", ["params__secret=a", "params__secret__startswith=a", "applied=a", "pk=s", "error=x",
                                   "schedule__params__a=1", "open__contains=1"])  # fmt: skip
def test_a_list_cannot_be_filtered_by_what_it_does_not_show(rows: dict[str, Any], asked: str) -> None:
    client = logged_in(*ALL_VIEWS)
    for model in OURS:
        column = asked.partition("__")[0].partition("=")[0]
        if column == "pk" or column in {field.name for field in model._meta.get_fields()}:
            if (model, column) == (Pause, "open"):
                continue
            answer = client.get(f"{reverse(f'admin:scheduler_{model._meta.model_name}_changelist')}?{asked}")
            assert answer.status_code == 400, (model, asked)


def test_a_schedule_that_is_not_there(rows: dict[str, Any]) -> None:
    client = logged_in(*ALL_VIEWS, *ALL_VERBS)
    for name in ("nobody", "a\x00b"):
        assert client.get(address("change", name)).status_code == 302
    for verb in ("skip", "unskip"):
        assert client.post(address(verb), {"tenant": "a\x00b"}).status_code == 302
    for verb in VERBS:
        assert client.post(address(verb, "nobody")).status_code == 404, verb
        assert client.get(address(verb, "a\x00b")).status_code in {404, 405}, verb
