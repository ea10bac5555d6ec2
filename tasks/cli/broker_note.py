"""A word about a broker that does not answer. Jobs are rows, so nothing is lost; they start once it is back."""

from __future__ import annotations

from jobsplatform.kernel import config
from tasks.doctor.broker import look_at
from tasks.doctor.finding import Level

TIMEOUT_SECONDS = 0.5


def broker_note() -> str:
    """One sentence when the broker is away; empty when it answers, or when it is this process's memory."""
    settings = config.get()
    url = settings.redis_url or settings.celery_broker_url
    away = [found for found in look_at("broker", url, TIMEOUT_SECONDS) if found.level is Level.UNREACHABLE]
    if not away:
        return ""
    return f"The broker is away: jobs are stored and start once it is back. {away[0].text} {away[0].advice}"
