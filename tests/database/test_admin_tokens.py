"""Tokens and apps in the admin: made, shown once, revoked; each with its permission."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobsplatform.kernel import clock, processes, quotas, tokens
from jobsplatform.kernel.models import App, AppToken, AuditEvent, Process
from tests.database.admin_support import HOSTILE, logged_in, messages_of

pytestmark = pytest.mark.django_db
MAKE = "admin:kernel_apptoken_make"


@pytest.fixture
def app() -> App:
    return App.objects.create(app_id="video", title="Video")


@pytest.fixture
def ann() -> Client:
    return logged_in(
        "kernel.view_apptoken", "kernel.add_apptoken", "kernel.revoke_token", "kernel.view_app", "kernel.change_app",
        "kernel.add_app", "kernel.view_process", "tasks.view_handlerbinding", username="ann",
    )  # fmt: skip


def make(client: Client, **form: Any) -> Any:
    return client.post(reverse(MAKE), {"app": "video", "scopes": ["jobs:create", "jobs:read"], **form})


# -- tokens ------------------------------------------------------------------------------------------


def test_a_token_is_made_and_shown_this_once(ann: Client, app: App) -> None:
    until = timezone.localtime(clock.now() + timedelta(days=90)).strftime("%Y-%m-%dT%H:%M")
    page = make(ann, name="the server", expires_at=until)
    secret = page.context["secret"]
    assert page.status_code == 200 and "no-store" in page["Cache-Control"]
    assert secret in page.content.decode()
    token = tokens.find(secret, clock.now())
    assert token is not None and token.app == app
    assert (token.name, token.scopes, token.created_by) == ("the server", ["jobs:create", "jobs:read"], "ann")
    assert token.expires_at is not None and token.expires_at > clock.now() + timedelta(days=89)
    # Nowhere else: not on its page, in the list, in the audit trail, in the session, in a message.
    for address in (
        reverse("admin:kernel_apptoken_changelist"),
        reverse("admin:kernel_apptoken_change", args=[token.pk]),
        reverse(MAKE),
    ):
        assert secret not in ann.get(address).content.decode()
        assert token.digest not in ann.get(address).content.decode()
    assert secret not in str(list(AuditEvent.objects.values()))
    assert secret not in str(dict(ann.session))
    assert AuditEvent.objects.get(action="token.create").actor == "ann"


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"scopes": []}, "at least one"),
        ({"scopes": ["jobs:everything"]}, "valid choice"),
        ({"app": "vidoe"}, "valid choice"),
        ({"expires_at": "2001-01-01T00:00"}, "still to come"),
        ({"expires_at": "soon"}, "valid date"),
        ({"name": "x" * 101}, "at most 100"),
        ({"name": "two\nlines"}, "printable"),
    ],
)
def test_bad_wishes_are_told_at_the_form_and_make_nothing(
    ann: Client, app: App, form: dict[str, Any], told: str
) -> None:
    page = make(ann, **form)
    assert told in page.content.decode()
    assert not AppToken.objects.exists()


def test_a_token_is_revoked_once(ann: Client, app: App) -> None:
    secret = make(ann).context["secret"]
    token = AppToken.objects.get()
    address = reverse("admin:kernel_apptoken_revoke", args=[token.pk])
    assert messages_of(ann.post(address, follow=True)) == [
        "Revoked: it is refused everywhere within five seconds."
    ]
    token.refresh_from_db()
    assert token.revoked_by == "ann" and tokens.find(secret, clock.now()) is None
    assert messages_of(ann.post(address, follow=True))[0].startswith("Nothing done")
    assert AuditEvent.objects.filter(action="token.revoke").count() == 1
    page = ann.get(reverse("admin:kernel_apptoken_change", args=[token.pk]))
    assert page.context["buttons"] == [] and b"revoked" in page.content


@pytest.mark.parametrize(
    ("permission", "status"),
    [("kernel.view_apptoken", 403), ("kernel.revoke_token", 403), ("kernel.add_apptoken", 200)],
)
def test_making_one_has_a_permission_of_its_own(app: App, permission: str, status: int) -> None:
    client = logged_in(permission)
    assert client.get(reverse(MAKE)).status_code == status
    assert make(client).status_code == status
    assert AppToken.objects.exists() == (status == 200)


@pytest.mark.parametrize("permission", ["kernel.view_apptoken", "kernel.add_apptoken"])
def test_revoking_has_a_permission_of_its_own(ann: Client, app: App, permission: str) -> None:
    make(ann)
    token = AppToken.objects.get()
    address = reverse("admin:kernel_apptoken_revoke", args=[token.pk])
    assert logged_in(permission).post(address).status_code == 403
    assert ann.get(address).status_code == 405
    token.refresh_from_db()
    assert token.revoked_at is None


def test_the_list_says_which_are_good(ann: Client, app: App) -> None:
    make(ann, name="good one")
    now = clock.now()
    AppToken.objects.create(
        app=app, name="old", digest="d1", created_at=now, expires_at=now - timedelta(days=1)
    )
    AppToken.objects.create(app=app, name=HOSTILE, digest="d2", created_at=now, revoked_at=now)
    page = ann.get(reverse("admin:kernel_apptoken_changelist"))
    text = page.content.decode()
    assert all(f">{word}</span>" in text for word in ("good", "expired", "revoked"))
    assert "<img src=x" not in text and "Make a token" in text
    viewer = logged_in("kernel.view_apptoken").get(reverse("admin:kernel_apptoken_changelist"))
    assert b"Make a token" not in viewer.content
    found = ann.get(reverse("admin:kernel_apptoken_changelist"), {"q": "good"})
    assert [token.name for token in found.context["cl"].result_list] == ["good one"]


# -- apps --------------------------------------------------------------------------------------------


def switch(client: Client, app: App, enabled: str) -> Any:
    return client.post(reverse("admin:kernel_app_switch", args=[app.pk]), {"enabled": enabled}, follow=True)


def test_an_app_is_disabled_and_enabled(ann: Client, app: App) -> None:
    assert messages_of(switch(ann, app, "0")) == ["App video is now disabled."]
    assert messages_of(switch(ann, app, "0"))[0].startswith("Nothing done")
    app.refresh_from_db()
    assert not app.enabled
    assert messages_of(switch(ann, app, "1")) == ["App video is now enabled."]
    assert switch(ann, app, "maybe").status_code == 200
    app.refresh_from_db()
    assert app.enabled
    assert list(AuditEvent.objects.order_by("pk").values_list("action", flat=True)) == [
        "app.disable",
        "app.enable",
    ]


def edit(client: Client, app: App, **form: Any) -> Any:
    return client.post(reverse("admin:kernel_app_edit", args=[app.pk]), form, follow=True)


def test_quotas_are_given_and_taken_back(ann: Client, app: App) -> None:
    page = edit(ann, app, title="Films", creates_per_minute="500")
    assert messages_of(page) == ["Saved: app video."] and b"500" in page.content
    app.refresh_from_db()
    assert (app.title, app.quotas) == ("Films", {"creates_per_minute": 500})
    assert quotas.Quotas.of(app.quotas).creates_per_minute == 500
    event = AuditEvent.objects.get(action="app.change")
    assert (event.actor, event.before["quotas"], event.after["quotas"]) == (
        "ann",
        {},
        {"creates_per_minute": 500},
    )
    edit(ann, app, title="Films")
    app.refresh_from_db()
    assert app.quotas == {}


@pytest.mark.parametrize("given", ["0", "-1", "many", "1e3", "99999999999"])
def test_quotas_that_are_none_are_refused(ann: Client, app: App, given: str) -> None:
    page = edit(ann, app, title="x", events_per_minute=given)
    assert page.context["form"].errors["events_per_minute"]
    app.refresh_from_db()
    assert app.quotas == {} and app.title == "Video"


def test_a_new_app_is_made(ann: Client) -> None:
    page = ann.post(reverse("admin:kernel_app_new"), {"app_id": "films", "title": "Films"}, follow=True)
    assert messages_of(page) == ["Made: app films. It needs a token to use the bus."]
    assert App.objects.get(app_id="films").title == "Films"
    for wrong in ("films", "FILMS", "a:b", "", "-x", HOSTILE):
        page = ann.post(reverse("admin:kernel_app_new"), {"app_id": wrong})
        assert page.context["form"].errors["app_id"], wrong
    assert App.objects.count() == 1


@pytest.mark.parametrize("permission", ["kernel.view_app", "kernel.add_app", "kernel.change_app"])
def test_each_verb_of_an_app_has_its_permission(app: App, permission: str) -> None:
    client = logged_in(permission)
    changing, adding = permission == "kernel.change_app", permission == "kernel.add_app"
    assert client.post(reverse("admin:kernel_app_switch", args=[app.pk]), {"enabled": "0"}).status_code == (
        302 if changing else 403
    )
    assert client.post(reverse("admin:kernel_app_edit", args=[app.pk]), {"title": "y"}).status_code == (
        302 if changing else 403
    )
    assert client.post(reverse("admin:kernel_app_new"), {"app_id": "new"}).status_code == (
        302 if adding else 403
    )
    app.refresh_from_db()
    assert (app.enabled, app.title) == ((False, "y") if changing else (True, "Video"))
    assert App.objects.filter(app_id="new").exists() == adding


def test_a_get_of_an_apps_verbs_changes_nothing(ann: Client, app: App) -> None:
    assert ann.get(reverse("admin:kernel_app_switch", args=[app.pk]), {"enabled": "0"}).status_code == 405
    assert ann.get(reverse("admin:kernel_app_edit", args=[app.pk]), {"title": "y"}).status_code == 200
    app.refresh_from_db()
    assert app.enabled and app.title == "Video"


def test_the_page_of_an_app_shows_its_sidecars_to_whoever_may_see_processes(ann: Client, app: App) -> None:
    row = processes.register("sidecar", name="scraper-1", now=clock.now())
    Process.objects.filter(pk=row.pk).update(app_id="video")
    address = reverse("admin:kernel_app_change", args=[app.pk])
    assert b"scraper-1" in ann.get(address).content
    assert b"scraper-1" not in logged_in("kernel.view_app").get(address).content
