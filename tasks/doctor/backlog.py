"""Jobs that wait for something nobody provides, and switches that hold them back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from django.db.models import Count

from jobsplatform.kernel import config
from tasks import registry, sidecars, suspensions
from tasks.doctor.finding import Finding, fault, ok, warning
from tasks.doctor.workers import live_workers
from tasks.models import Job, Suspension
from tasks.states import Hold, State

_START_A_SIDECAR = (
    "Start the sidecar, approve or enable its binding in the admin, "
    "or cancel the jobs ('jobs cancel --type')."
)
_WAITING_FOR_A_WORKER = (Hold.NONE, Hold.LATER, Hold.KEY)


def check_queues(now: datetime) -> Iterator[Finding]:
    """Pending jobs whose queue no live worker serves, or whose job type none of those knows."""
    workers = live_workers(now)
    pending = Job.objects.filter(state=State.PENDING, hold__in=_WAITING_FOR_A_WORKER).order_by()
    waiting = list(pending.values_list("queue", "handler_key").annotate(Count("id")))
    forsaken = sidecars.unserved(waiting, now)
    for name, count, why in forsaken:
        yield fault("sidecars", f"{count:,} jobs of type {name} wait. {why}", _START_A_SIDECAR, type=name)
    if not workers or config.get().tasks.provider == "sync":
        return
    unserved: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for queue, key, count in waiting:
        if sidecars.binding_of(key) is not None:
            continue
        serving = [worker for worker in workers if queue in worker.queues]
        if not serving:
            unserved[queue] += count
        elif not any(key in worker.handlers for worker in serving):
            unknown[key] += count
    for queue, count in sorted(unserved.items()):
        advice = (
            f"Start a worker for it: 'celery -A jobsplatform worker -Q {queue}', or name it in TASKS__QUEUES."
        )
        yield fault(
            "queues",
            f"{count:,} jobs wait in the queue {queue}, which no live worker serves.",
            advice,
            queue=queue,
        )
    for key, count in sorted(unknown.items()):
        name = registry.shown(key)
        advice = (
            "Restart the workers with the release that has it, or cancel the jobs ('jobs cancel --type')."
        )
        yield fault(
            "queues",
            f"{count:,} jobs of type {name} wait: no live worker of their queue knows it.",
            advice,
            type=name,
        )
    if not unserved and not unknown and not forsaken:
        yield ok("queues", "Every queue and job type with pending jobs has a live worker.")


def check_suspensions(now: datetime) -> Iterator[Finding]:
    """Switches that hold jobs back: meant so, and easily forgotten."""
    rows = suspensions.in_force(now)
    for row in rows:
        what = f"{row.scope} {registry.shown(row.target)}".strip()
        until = f" until {row.expires_at:%Y-%m-%d %H:%M} UTC" if row.expires_at else ""
        reason = f": {row.reason}" if row.reason else ""
        name = "" if row.scope == Suspension.Scope.ALL else f" {registry.shown(row.target) or chr(39) * 2}"
        text = f"Suspended by {row.author}{until}: {what}{reason}"
        yield warning("suspensions", text, f"Lift it: 'manage.py unsuspend {row.scope}{name}'.", id=row.id)
    if not rows:
        yield ok("suspensions", "Nothing is suspended.")
