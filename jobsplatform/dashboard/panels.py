"""What the dashboard shows, part by part: each asks for the permission of the screen that it sums up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from jobsplatform.admin.processes import busy_slots
from jobsplatform.dashboard import work
from jobsplatform.kernel import clock, config
from jobsplatform.kernel.models import Process
from scheduler import queries as schedules
from scheduler.admin import looks
from scheduler.admin.addresses import schedule_link
from tasks.admin import live, shapes
from tasks.admin.base import frame
from tasks.models import Suspension

PROCESSES_SHOWN = 20
SUSPENSIONS_SHOWN = 10
SLOTS_SHOWN = 8

_RUNNERS = (Process.Role.WORKER, Process.Role.SIDECAR)


def fill(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The context of the admin's index with the dashboard. Its script asks for it again and again."""
    return {**context, **frame(request, context), **parts(request.user, clock.now())}


def parts(user: Any, now: datetime) -> dict[str, Any]:
    """Every part that this user may see; the others are not even asked for."""
    known: dict[str, Callable[[datetime], dict[str, Any]]] = {
        "tasks.view_job": _jobs,
        "kernel.view_process": _workers,
        "tasks.view_suspension": _suspensions,
        "scheduler.view_schedule": _slots,
    }
    shown: dict[str, Any] = {"now": now.isoformat(), "demo_url": _demo(), "topics": ""}
    for permission, part in known.items():
        if user.has_perm(permission):
            shown |= part(now)
    if "running" in shown:
        # Whoever sees jobs hears of them; the rest of the page is looked at anew every few seconds.
        shown["topics"] = live.topics("jobs", "system")
    shown["nothing"] = not any(name in shown for name in ("running", "workers", "suspensions", "slots"))
    return shown


def _jobs(now: datetime) -> dict[str, Any]:
    queues, exact = work.queues(now)
    return {
        "running": work.running(now),
        "queues": queues,
        "queues_exact": exact,
        "cap": f"{work.CAP:,}",
        "failed": work.failed(now),
        "jobs_url": reverse("admin:tasks_job_changelist"),
    }


def _workers(now: datetime) -> dict[str, Any]:
    lease = timedelta(seconds=config.get().tasks.lease_seconds)
    rows = list(
        Process.objects.filter(
            role__in=_RUNNERS, heartbeat_at__gt=now - 4 * lease, stopped_at__isnull=True, lost_at__isnull=True
        )
        .defer("handlers", "info")
        .order_by("role", "name", "id")[:PROCESSES_SHOWN]
    )
    busy = busy_slots([row.pk for row in rows])
    workers = []
    for row in rows:
        stale = now - row.heartbeat_at >= lease
        workers.append({
            "id": row.pk,
            "name": row.name,
            "url": reverse("admin:kernel_process_change", args=[row.pk]),
            "kind": f"sidecar of {row.app_id}" if row.role == Process.Role.SIDECAR else "worker",
            "state": shapes.badge("stale", "bad") if stale
            else shapes.badge("draining", "warning") if row.stopping else shapes.badge("live", "good"),
            "busy": busy.get(row.pk, 0),
            "slots": row.concurrency,
            "beat": shapes.age(row.heartbeat_at, now),
        })  # fmt: skip
    own = [one for one, row in zip(workers, rows, strict=True) if row.role == Process.Role.WORKER]
    return {
        "workers": workers,
        "slots_busy": sum(one["busy"] for one in own),
        "slots_all": sum(one["slots"] for one in own),
    }


def _suspensions(now: datetime) -> dict[str, Any]:
    rows = Suspension.objects.filter(lifted_at__isnull=True).exclude(expires_at__lte=now)
    return {
        "suspensions": [
            {
                "id": row.pk,
                "what": f"{row.get_scope_display().lower()} {row.target.lstrip(':')}".strip(),
                "url": reverse("admin:tasks_suspension_change", args=[row.pk]),
                "author": row.author,
                "reason": row.reason,
                "since": shapes.age(row.created_at, now),
            }
            for row in rows.order_by("-pk")[:SUSPENSIONS_SHOWN]
        ]
    }


def _slots(now: datetime) -> dict[str, Any]:
    return {
        "slots": [
            {
                "id": state.pk,
                "schedule": schedule_link(state.schedule_id),
                "tenant": state.tenant_id,
                "at": looks.in_zone(state.next_slot_at, looks.zone_of(state.schedule.timezone)),
                "distance": looks.distance(state.next_slot_at, now) if state.next_slot_at else "",
                "overdue": state.next_due_at is not None and state.next_due_at < now - timedelta(minutes=1),
            }
            for state in schedules.upcoming(SLOTS_SHOWN)
        ]
    }


def _demo() -> str:
    try:
        return reverse("demo:page")
    except NoReverseMatch:
        return ""
