"""The kernel as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class KernelConfig(AppConfig):
    name = "jobsplatform.kernel"
    label = "kernel"
    verbose_name = "Platform"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from jobsplatform.kernel import app_events, checks

        checks.install()
        app_events.install()
