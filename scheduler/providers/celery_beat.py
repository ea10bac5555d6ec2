"""Celery Beat: ours, embedded; or entries for one that somebody else runs."""

from __future__ import annotations

import threading
from datetime import datetime
from typing import Any

from celery import Celery, current_app
from celery.beat import Service
from celery.utils.imports import symbol_by_name
from django.apps import apps

from jobsplatform.kernel import clock
from jobsplatform.kernel.bell import Bell
from jobsplatform.kernel.errors import InvalidInput
from scheduler import export
from scheduler.providers.base import Chained, OnRound, RunReport, ignore
from scheduler.providers.local import LocalScheduleProvider
from scheduler.providers.loop import instance_name

SCHEDULER = "scheduler.beat:PlatformScheduler"
OUR_APP = "jobsplatform.celery:app"
ROWS = "scheduler.export_rows:export_rows"  # by name: it cannot be loaded where that app is not installed
STOP_SECONDS = 4.5


class CeleryBeatScheduleProvider(Chained):
    """Runs a Beat in a thread of this process: it hints, and the workers plan."""

    name = "celery_beat"

    def run(
        self,
        *,
        bell: Bell,
        max_iterations: int | None = None,
        instance_id: str = "",
        on_round: OnRound = ignore,
    ) -> RunReport:
        if max_iterations is not None:
            # Rounds that are counted are planned here: a Beat that hints cannot tell what came of it.
            local = LocalScheduleProvider(self._chain)
            return local.run(
                bell=bell, max_iterations=max_iterations, instance_id=instance_id, on_round=on_round
            )
        report = RunReport(instance_id=instance_name(instance_id))
        service = Service(celery_app(), scheduler_cls=SCHEDULER, remote_control=False)
        thread = threading.Thread(target=_serve, args=(service, bell), name="beat-service", daemon=True)
        thread.start()
        try:
            bell.wait(None)
        finally:
            service.stop()
            thread.join(STOP_SECONDS)
        return report

    def beat_schedule(self) -> dict[str, dict[str, Any]]:
        """Entries for ``app.conf.beat_schedule`` of a Beat that is not ours; see ``scheduler.export``."""
        return export.entries()

    def export_rows(self, now: datetime | None = None) -> Any:
        """Write the rows for a Beat that runs django-celery-beat's scheduler; see ``scheduler.export_rows``."""
        if not apps.is_installed("django_celery_beat"):
            raise InvalidInput(
                "django-celery-beat is not installed: add django_celery_beat to INSTALLED_APPS."
            )
        return symbol_by_name(ROWS)(now or clock.now())


def celery_app() -> Celery:
    """The project's Celery app; ours where it has none."""
    app = current_app._get_current_object()
    return symbol_by_name(OUR_APP) if app.main == "default" else app


def _serve(service: Service, bell: Bell) -> None:
    try:
        service.start()
    finally:
        bell.ring()
