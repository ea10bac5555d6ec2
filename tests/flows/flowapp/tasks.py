"""A plain Celery task, as a project has them that runs django-celery-beat."""

from __future__ import annotations

from celery import shared_task

from tests.flows.flowapp.jobs import note


@shared_task(name="flow.plain")
def plain(path: str, what: str = "start") -> None:
    note(path, what)
