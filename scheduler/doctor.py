"""What ``manage.py doctor`` looks at of schedules: who plans, what is late, what is faulty."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from jobsplatform.kernel import config, processes
from jobsplatform.kernel.models import Process
from scheduler import overdue
from scheduler.models import ScheduleState
from tasks.doctor.finding import Finding, fault, ok, warning

SHOWN = 5


def check_schedules(now: datetime) -> Iterator[Finding]:
    """Whether somebody plans, every slot is decided in time, and every schedule can be planned."""
    yield _who_plans(now)
    found = overdue.report(now)
    if found.overdue_count:
        names = [one.name for one in found.overdue]
        text = f"{found.overdue_count} schedules have slots that nobody decided: {_some(names)}."
        yield fault("schedules", text, "Start a scheduler, or see the log of the one that runs.", names=names)
    if found.faulty:
        names = [one.schedule_id for one in found.faulty]
        text = f"Schedules that cannot be planned: {_some(names)}."
        yield fault("schedules", text, "See 'manage.py schedules check'.", names=names)


def _who_plans(now: datetime) -> Finding:
    lease = config.get().tasks.lease_seconds
    live = processes.live(now, lease).filter(role__in=[Process.Role.SCHEDULER, Process.Role.BEAT]).count()
    if live:
        return ok("schedules", f"{live} schedulers live.", schedulers=live)
    if not ScheduleState.objects.filter(next_due_at__isnull=False).exists():
        return ok("schedules", "No scheduler lives, and no slot is to come.", schedulers=0)
    after = config.get().scheduler.sweep_after_seconds
    return warning(
        "schedules",
        f"No scheduler lives: workers plan slots, {after:g} s late.",
        "Start one: 'celery -A jobsplatform beat -S scheduler.beat:PlatformScheduler', or 'manage.py scheduler --run'.",
        schedulers=0,
    )


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
