"""Work done elsewhere and events of apps in the admin: read, and never changed."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from jobsplatform.kernel import clock
from jobsplatform.kernel.audit import Actor
from tasks import external
from tasks.external import Snapshot
from tasks.models import AppEvent, ExternalJob
from tests.database.admin_support import HOSTILE, logged_in

pytestmark = pytest.mark.django_db
VIDEO = Actor("video", "app")


@pytest.fixture
def job() -> ExternalJob:
    told = Snapshot(
        title=HOSTILE, status="running", progress=40.0, eta_seconds=90.0, message=HOSTILE, user_id="u7"
    )
    return external.upsert("video", "film-1", told, actor=VIDEO, now=clock.now())


@pytest.fixture
def event() -> AppEvent:
    payload = {"secret": "of the app"}
    return external.tell("video", "u7", "done", scope="films", payload=payload, actor=VIDEO, now=clock.now())


def pages(client: Client, model: str, pk: Any) -> list[Any]:
    return [
        client.get(reverse(f"admin:tasks_{model}_changelist")),
        client.get(reverse(f"admin:tasks_{model}_change", args=[pk])),
    ]


def test_external_jobs_are_shown_with_their_progress(job: ExternalJob) -> None:
    for page in pages(logged_in("tasks.view_externaljob"), "externaljob", job.pk):
        text = page.content.decode()
        assert page.status_code == 200 and 'value="40"' in text and "running" in text
        assert re.search(r"1m(30|2\d)s left", text) and "<img src=x" not in text


@pytest.mark.parametrize(("term", "found"), [("film-1", 1), ("u7", 1), ("film", 0), ("", 1)])
def test_external_jobs_are_found_by_the_whole_of_an_id_or_user(
    job: ExternalJob, term: str, found: int
) -> None:
    page = logged_in("tasks.view_externaljob").get(reverse("admin:tasks_externaljob_changelist"), {"q": term})
    assert len(page.context["cl"].result_list) == found


def test_the_payload_of_an_event_needs_its_permission(event: AppEvent) -> None:
    listed, shown = pages(logged_in("tasks.view_appevent"), "appevent", event.pk)
    assert b"done" in listed.content and b"films" in shown.content
    assert b"of the app" not in listed.content + shown.content
    listed, shown = pages(logged_in("tasks.view_appevent", "tasks.view_payload"), "appevent", event.pk)
    assert b"of the app" not in listed.content and b"of the app" in shown.content


@pytest.mark.parametrize("model", ["externaljob", "appevent"])
def test_nothing_of_them_is_changed_by_anybody(job: ExternalJob, event: AppEvent, model: str) -> None:
    pk = job.pk if model == "externaljob" else event.pk
    before = list(ExternalJob.objects.values()) + list(AppEvent.objects.values())
    client = logged_in(is_superuser=True)
    for page in ("change", "delete", "history"):
        address = reverse(f"admin:tasks_{model}_{page}", args=[pk])
        assert client.post(address, {"post": "yes", "status": "failed"}).status_code == 403
    assert client.post(reverse(f"admin:tasks_{model}_add"), {}).status_code == 403
    assert list(ExternalJob.objects.values()) + list(AppEvent.objects.values()) == before
    for page in pages(logged_in(), model, pk):
        assert page.status_code == 403
