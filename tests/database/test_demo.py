"""The demo page: for staff, and a scan only for those who may start jobs."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from jobsplatform.kernel.models import AuditEvent
from tasks.models import Job

pytestmark = pytest.mark.django_db


def client_of(*, staff: bool = True, permissions: tuple[str, ...] = (), checks: bool = False) -> Client:
    user = User.objects.create_user("ann", is_staff=staff)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client(enforce_csrf_checks=checks)
    client.force_login(user)
    return client


def start(client: Client, body: Any, **headers: str) -> Any:
    data = body if isinstance(body, str) else json.dumps(body)
    return client.post("/demo/scans", data, content_type="application/json", headers=headers)


def test_the_page_is_for_staff() -> None:
    assert Client().get("/demo/")["Location"].startswith("/admin/login/")
    assert client_of(staff=False).get("/demo/").status_code == 302


def test_the_page_knows_what_it_needs() -> None:
    text = client_of().get("/demo/").content.decode()
    facts = json.loads(text.split('type="application/json">')[1].split("</script>")[0])
    assert facts["start"] == "/demo/scans"
    assert facts["mayStart"] is False
    assert facts["place"] in facts["job"]
    assert "/static/tasks/sdk/demo.js" in text


def test_a_scan_is_started_and_audited() -> None:
    answer = start(client_of(permissions=("enqueue_job",)), {"root": "/srv/photos"})
    job = Job.objects.get(id=answer.json()["id"])
    assert (answer.status_code, job.job_type, job.params["root"]) == (200, "files.scan", "/srv/photos")
    event = AuditEvent.objects.get(action="job.enqueue")
    assert (event.actor, event.target_id) == ("ann", str(job.id))


def test_not_without_the_permission() -> None:
    answer = start(client_of(), {"root": "/srv"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")
    assert not Job.objects.exists()


def test_not_from_another_page() -> None:
    client = client_of(permissions=("enqueue_job",), checks=True)
    assert start(client, {"root": "/srv"}).status_code == 403
    assert client.get("/demo/scans").status_code == 405


@pytest.mark.parametrize(
    "body",
    [
        "", "{", "[]", "7", "[" * 5000, {}, {"root": 7}, {"root": "srv"}, {"root": "/" + 5000 * "x"},
        {"root": "/srv", "more": 1}, {"root": "/a\x00b"},
    ],
)  # fmt: skip
def test_bad_bodies_are_refused(body: Any) -> None:
    answer = start(client_of(permissions=("enqueue_job",)), body)
    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["message"]
    assert not Job.objects.exists()
