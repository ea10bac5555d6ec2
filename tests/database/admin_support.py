"""Users and shorthand for the admin tests."""

from typing import Any

from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.browser.rows import build_job, make_attempt, make_job

__all__ = ["ALL_VIEWS", "HOSTILE", "build_job", "logged_in", "make_attempt", "make_job", "messages_of"]

HOSTILE = "<img src=x onerror=alert(1)></script>"
ALL_VIEWS = (
    "tasks.view_job", "tasks.view_jobattempt", "tasks.view_suspension", "kernel.view_process", "kernel.view_tenant",
    "kernel.view_app", "kernel.view_auditevent", "kernel.view_apptoken", "tasks.view_handlerbinding",
    "tasks.view_externaljob", "tasks.view_appevent",
)  # fmt: skip


def logged_in(*permissions: str, **facts: Any) -> Client:
    """A browser of a staff user who may do just this."""
    name = facts.pop("username", f"user{User.objects.count()}")
    user = User.objects.create_user(name, is_staff=True, **facts)
    for name in permissions:
        app_label, codename = name.split(".")
        user.user_permissions.add(
            Permission.objects.get(content_type__app_label=app_label, codename=codename)
        )
    client = Client()
    client.force_login(user)
    return client


def messages_of(response: Any) -> list[str]:
    """What the user is told on the page."""
    return [str(message) for message in response.context["messages"]]
