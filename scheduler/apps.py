"""The Django app."""

from __future__ import annotations

from typing import ClassVar

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class SchedulerConfig(AppConfig):
    """Finds the schedules of every installed app (``schedules.py``) once all handlers are known."""

    name = "scheduler"
    verbose_name = "Schedules"
    default_auto_field = "django.db.models.BigAutoField"
    doctor_checks: ClassVar = {"schedules": "scheduler.doctor.check_schedules"}

    def ready(self) -> None:
        from scheduler import checks  # noqa: F401  (registers the system checks)

        autodiscover_modules("schedules")
