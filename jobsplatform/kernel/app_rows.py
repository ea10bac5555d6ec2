"""Apps by their ids: found, made, switched; each change is audited."""

from __future__ import annotations

import re
from collections.abc import Mapping

from django.db import transaction

from jobsplatform.kernel import audit, quotas
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.errors import InvalidInput
from jobsplatform.kernel.models import App

# No colon: it parts the app from the job type in a handler's key.
APP_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}\Z")


def read_app_id(given: str) -> str:
    """An app's id as given. Raises InvalidInput."""
    if not APP_ID.match(given):
        raise InvalidInput(
            f"app: expected 1 to 100 of A-Z, a-z, 0-9, _ . and -, beginning with a letter or digit, got {given[:60]!r}."
        )
    return given


def ensure(app_id: str, *, actor: Actor) -> tuple[App, bool]:
    """The app with this id, and whether it was made just now. Raises InvalidInput for what cannot be an id."""
    with transaction.atomic():
        app, made = App.objects.get_or_create(app_id=read_app_id(app_id))
        if made:
            audit.record("app.create", "app", app_id, actor=actor, after={"app_id": app_id}, app_id=app_id)
    return app, made


def set_enabled(app_id: str, enabled: bool, *, actor: Actor) -> bool:
    """Let an app use the bus, or not. False: nothing changed, because it stood so or there is no such app."""
    with transaction.atomic():
        app = App.objects.select_for_update().filter(app_id=app_id).first()
        if app is None or app.enabled == enabled:
            return False
        app.enabled = enabled
        app.save(update_fields=["enabled"])
        audit.record(
            "app.enable" if enabled else "app.disable",
            "app",
            app_id,
            actor=actor,
            before={"enabled": not enabled},
            after={"enabled": enabled},
            app_id=app_id,
        )
    return True


def describe(app_id: str, *, title: str, own_quotas: Mapping[str, int], actor: Actor) -> bool:
    """Give an app its title and the quotas that differ from the settings. False: nothing changed, because it stood so
    or there is no such app. Raises InvalidInput, UnknownName for quotas that are none."""
    wanted = quotas.check(own_quotas)
    with transaction.atomic():
        app = App.objects.select_for_update().filter(app_id=app_id).first()
        if app is None or (app.title, app.quotas) == (title, wanted):
            return False
        before = {"title": app.title, "quotas": app.quotas}
        app.title, app.quotas = title, wanted
        app.save(update_fields=["title", "quotas"])
        after = {"title": title, "quotas": wanted}
        audit.record("app.change", "app", app_id, actor=actor, before=before, after=after, app_id=app_id)
    return True
