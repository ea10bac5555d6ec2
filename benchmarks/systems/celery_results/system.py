"""Celery with django-celery-results, and the same Django project without it."""

from __future__ import annotations

from benchmarks.systems.base import Place, System, python
from benchmarks.systems.plain_celery.system import OPTIONS


class _Project(System):
    client = "benchmarks.systems.celery_results.client"
    results = "off"

    def environment(self, place: Place) -> dict[str, str]:
        return {**super().environment(place), "BENCH_RESULTS": self.results}

    def workers(self) -> list[list[str]]:
        return [
            python("celery", "-A", "benchmarks.systems.celery_results.app", "--quiet", "worker", *OPTIONS)
        ]


class CeleryResults(_Project):
    """Every task's end is a row, as with ours."""

    name = "django-celery-results"
    schema = "celery_results"
    needs = ("celery", "django", "django_celery_results")
    settings = (
        "django-db results, CELERY_DB_REUSE_MAX and CONN_MAX_AGE without limit; "
        f"prefork {' '.join(OPTIONS)}; one producer of the app's pool, kept open"
    )
    results = "on"
    done_sql = "SELECT count(*) FROM django_celery_results_taskresult WHERE status = 'SUCCESS'"


class CeleryDjango(_Project):
    """Celery in a Django project without results."""

    name = "celery + django"
    schema = "celery_django"
    needs = ("celery", "django")
    settings = f"a project as startproject makes it, no results, prefork {' '.join(OPTIONS)}"
