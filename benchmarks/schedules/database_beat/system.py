"""django-celery-beat on the same PostgreSQL."""

from __future__ import annotations

from benchmarks.systems.base import System, python


class DatabaseBeat(System):
    name = "django-celery-beat"
    schema = "database_beat"
    client = "benchmarks.schedules.database_beat.client"
    needs = ("celery", "django", "django_celery_beat")
    settings = "DatabaseScheduler with its defaults, interval rows, CONN_MAX_AGE without limit"

    def workers(self) -> list[list[str]]:
        return [
            python(
                *("celery", "-A", "benchmarks.schedules.database_beat.app", "--quiet", "beat"),
                *("-S", "django_celery_beat.schedulers:DatabaseScheduler"),
            )
        ]
