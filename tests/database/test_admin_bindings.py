"""Handlers of sidecars in the admin: the address is approved as it was read, a handler is switched off and on."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from jobsplatform.kernel import clock
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.models import AuditEvent
from tasks.bus import bindings
from tasks.bus.bindings import Wanted
from tasks.models import HandlerBinding
from tests.database.admin_support import HOSTILE, logged_in, messages_of

pytestmark = pytest.mark.django_db
URL = "https://media.example/jobs"
SIDECAR = Actor("video", "app")


@pytest.fixture
def binding() -> HandlerBinding:
    return bound(URL)


@pytest.fixture
def ann() -> Client:
    return logged_in("tasks.view_handlerbinding", "tasks.approve_binding", username="ann")


def bound(url: str, job_type: str = "thumbs") -> HandlerBinding:
    wanted = Wanted(job_type, "media", transport="http", url=url, spec={"description": HOSTILE})
    return bindings.register("video", wanted, actor=SIDECAR, now=clock.now())


def approve(client: Client, binding: HandlerBinding, url: str = URL) -> Any:
    address = reverse("admin:tasks_handlerbinding_approve", args=[binding.pk])
    return client.post(address, {"url": url}, follow=True)


def switch(client: Client, binding: HandlerBinding, enabled: str) -> Any:
    address = reverse("admin:tasks_handlerbinding_switch", args=[binding.pk])
    return client.post(address, {"enabled": enabled}, follow=True)


def test_an_address_is_approved(ann: Client, binding: HandlerBinding) -> None:
    page = ann.get(reverse("admin:tasks_handlerbinding_change", args=[binding.pk]))
    assert b"to be approved" in page.content and b"<img src=x" not in page.content
    assert messages_of(approve(ann, binding)) == [f"Approved: video:thumbs is called at {URL}."]
    binding.refresh_from_db()
    assert (binding.approved_url, binding.approved_by) == (URL, "ann") and binding.approved_at is not None
    assert AuditEvent.objects.get(action="binding.approve").actor == "ann"


def test_an_address_that_came_after_the_look_is_not_approved(ann: Client, binding: HandlerBinding) -> None:
    bound("https://evil.example/")
    page = approve(ann, binding, URL)
    assert "names another address by now" in messages_of(page)[0]
    binding.refresh_from_db()
    assert binding.approved_url == ""


def test_without_an_address_there_is_nothing_to_approve(ann: Client) -> None:
    made = bindings.register("video", Wanted("scrape", "media"), actor=SIDECAR, now=clock.now())
    assert "names no url" in messages_of(approve(ann, made, ""))[0]
    page = ann.get(reverse("admin:tasks_handlerbinding_change", args=[made.pk]))
    assert [button.label for button in page.context["buttons"]] == ["Disable"]


def test_a_handler_is_switched_off_and_on(ann: Client, binding: HandlerBinding) -> None:
    assert messages_of(switch(ann, binding, "0")) == ["video:thumbs is now disabled."]
    assert messages_of(switch(ann, binding, "0"))[0].startswith("Nothing done")
    binding.refresh_from_db()
    assert not binding.enabled
    assert messages_of(switch(ann, binding, "1")) == ["video:thumbs is now enabled."]
    assert "expected 0 or 1" in messages_of(switch(ann, binding, "perhaps"))[0]
    actions = AuditEvent.objects.filter(action__in=("binding.enable", "binding.disable"))
    assert actions.count() == 2


def test_one_that_was_unregistered_meanwhile_is_told(ann: Client, binding: HandlerBinding) -> None:
    bindings.unregister("video", "thumbs", actor=SIDECAR)
    for page in (approve(ann, binding), switch(ann, binding, "0")):
        assert "unregistered" in messages_of(page)[0]


def test_a_viewer_may_do_neither_and_a_get_does_nothing(ann: Client, binding: HandlerBinding) -> None:
    viewer = logged_in("tasks.view_handlerbinding", "kernel.change_app")
    for name in ("approve", "switch"):
        address = reverse(f"admin:tasks_handlerbinding_{name}", args=[binding.pk])
        assert viewer.post(address, {"url": URL, "enabled": "0"}).status_code == 403
        assert ann.get(address, {"url": URL, "enabled": "0"}).status_code == 405
    page = viewer.get(reverse("admin:tasks_handlerbinding_change", args=[binding.pk]))
    assert page.context["buttons"] == []
    binding.refresh_from_db()
    assert binding.enabled and binding.approved_url == ""


def test_the_list_shows_what_waits_for_an_approval(ann: Client, binding: HandlerBinding) -> None:
    page = ann.get(reverse("admin:tasks_handlerbinding_changelist"), {"transport__exact": "http"})
    text = page.content.decode()
    assert "video:thumbs" in text and "to be approved" in text and URL in text
