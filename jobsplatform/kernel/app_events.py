"""Facts about apps."""

from __future__ import annotations

from typing import Any

from django.db.models.signals import post_delete, post_save

from jobsplatform.kernel import events
from jobsplatform.kernel.models import App


@events.event
class AppsChanged:
    """An app was made, changed or removed. That it was seen is no change."""

    app_id: str


def install() -> None:
    """Tell of every change of an app's row, whoever makes it."""
    post_save.connect(_changed, sender=App, dispatch_uid="jobsplatform.apps_changed.save")
    post_delete.connect(_changed, sender=App, dispatch_uid="jobsplatform.apps_changed.delete")


def _changed(instance: App, **_: Any) -> None:
    events.emit(AppsChanged(instance.app_id))
