"""A project that runs Celery's own beat: our schedules are in its ``beat_schedule``."""

from __future__ import annotations

import django

from jobsplatform.celery import app

django.setup()

from scheduler import export  # noqa: E402

app.conf.beat_schedule = export.entries()
