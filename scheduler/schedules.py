"""The platform's own housekeeping, on with ``SCHEDULER__MAINTENANCE``: what every installation wants done by itself.

Times of day are those of ``TIME_ZONE``. Missed ones are made up once: none of these jobs minds to run late.
"""

from __future__ import annotations

from jobsplatform.kernel import config
from scheduler.declare import schedule


def declare(zone: str) -> None:
    """Declare them all."""
    schedule(
        "maintenance.purge-jobs",
        job="maintenance.purge_jobs",
        cron="17 * * * *",
        timezone=zone,
        misfire="run_once",
        description="Remove ended jobs and other records whose retention has passed.",
    )
    schedule(
        "maintenance.find-stuck",
        job="maintenance.find_stuck",
        cron="*/5 * * * *",
        timezone=zone,
        misfire="skip",
        description="Look for jobs that are overdue, silent or not started.",
        log_days=2,
    )
    schedule(
        "maintenance.clear-sessions",
        job="maintenance.clear_sessions",
        cron="40 3 * * *",
        timezone=zone,
        misfire="run_once",
        description="Remove expired login sessions.",
    )
    schedule(
        "maintenance.archive-logs",
        job="maintenance.archive_logs",
        cron="20 3 * * 7",
        timezone=zone,
        misfire="run_once",
        description="Write audit events that retention will soon remove to compressed files.",
    )
    schedule(
        "maintenance.daily-report",
        job="maintenance.report",
        cron="0 6 * * *",
        timezone=zone,
        misfire="run_once",
        description="Sum up the last day: jobs by state and type, failures, the slowest types.",
    )


if config.get().scheduler.maintenance:
    declare(config.get().time_zone)
