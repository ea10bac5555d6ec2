"""Sends Celery messages from the Django project."""

from __future__ import annotations

import django

from benchmarks.systems.celery_results.app import app
from benchmarks.systems.plain_celery.client import CeleryClient

django.setup()


class ProjectClient(CeleryClient):
    def prepare(self) -> None:
        from django.core.management import call_command

        call_command("migrate", verbosity=0, interactive=False)


def make() -> ProjectClient:
    return ProjectClient(app)
