"""The Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class TasksConfig(AppConfig):
    """Finds the handlers of every installed app (``jobs.py``) once all models are loaded."""

    name = "tasks"
    verbose_name = "Work"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from tasks import (
            checks,  # noqa: F401  (registers the system checks)
            inline,
        )
        from tasks.bus import bindings
        from tasks.live import hints

        autodiscover_modules("jobs")
        inline.install()
        hints.install()
        bindings.install()
