"""The wiring as an app: it comes last in INSTALLED_APPS, so that all others are ready."""

from __future__ import annotations

from django.apps import AppConfig


class JobsPlatformConfig(AppConfig):
    name = "jobsplatform"
    label = "jobsplatform"
    verbose_name = "JobsPlatform"

    def ready(self) -> None:
        from jobsplatform import live_schedules, telemetry
        from jobsplatform.kernel import config
        from jobsplatform.telemetry import lines, schedule_lines

        telemetry.configure_logging(config.get())
        lines.install()
        schedule_lines.install()
        live_schedules.install()
