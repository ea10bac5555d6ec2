"""The dashboard's reads of jobs: each stops at a cap, so that it is quick beside millions of rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Min, Q
from django.urls import reverse

from tasks import progress, queries
from tasks.admin import shapes
from tasks.admin.filters import first_id_at
from tasks.admin.paging import AtLeast
from tasks.admin.paging import Count as Exact
from tasks.models import Job
from tasks.states import Hold, State

CAP = 10_000
RUNNING_SHOWN = 10
FAILED_SHOWN = 5
QUEUES_SHOWN = 12
DAY = timedelta(hours=24)

_LISTED = (
    "id", "app_id", "job_type", "handler_key", "state", "reason", "started_at", "progress_done", "progress_total",
    "progress_label", "progress_at", "dedupe_key", "queue",
)  # fmt: skip
_ACTIVE = (State.PENDING, State.DISPATCHED, State.RUNNING)


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue: jobs that wait, those of them that may start at once, in flight; since when the oldest is due."""

    name: str
    pending: int
    ready: int
    in_flight: int
    oldest: Any


def running(now: datetime) -> list[dict[str, Any]]:
    """The jobs that have begun to run last."""
    rows = Job.objects.filter(state=State.RUNNING).only(*_LISTED).order_by("-id")[:RUNNING_SHOWN]
    return [
        {
            "id": job.id,
            "link": shapes.job_link(job.id, shapes.name_of(job)),
            "badge": shapes.state_badge(job.state),
            "bar": shapes.bar(
                job.progress_done, job.progress_total, job.progress_label, progress.eta_seconds(job, now)
            ),
            "since": shapes.age(job.started_at, now),
        }
        for job in rows
    ]


def queues(now: datetime) -> tuple[list[Queue], bool]:
    """The depth of each queue with active jobs, and whether all of them were counted."""
    newest = Job.objects.filter(state__in=_ACTIVE).order_by().values("pk")[: CAP + 1]
    rows = list(
        Job.objects.filter(pk__in=newest)
        .order_by()
        .values("queue")
        .annotate(
            pending=Count("pk", filter=Q(state=State.PENDING)),
            ready=Count("pk", filter=Q(state=State.PENDING, hold=Hold.NONE)),
            in_flight=Count("pk", filter=~Q(state=State.PENDING)),
            oldest=Min("due_at", filter=Q(state=State.PENDING, hold=Hold.NONE)),
        )
        .order_by("queue")[:QUEUES_SHOWN]
    )
    exact = sum(row["pending"] + row["in_flight"] for row in rows) <= CAP
    found = [
        Queue(row["queue"], Exact(row["pending"]), Exact(row["ready"]), Exact(row["in_flight"]),
              shapes.age(row["oldest"], now) if row["oldest"] and row["oldest"] < now else "")
        for row in rows
    ]  # fmt: skip
    return found, exact


def failed(now: datetime) -> dict[str, Any]:
    """Jobs that failed in the last 24 hours: how many, and the newest. One made more than two days ago is not looked
    for: only by its id, which begins with the time it was made, are few rows read."""
    rows = Job.objects.filter(
        state=State.FAILED, id__gte=first_id_at(now - 2 * DAY), finished_at__gte=now - DAY
    )
    newest = list(rows.only(*_LISTED, "finished_at", "error_type").order_by("-id")[:FAILED_SHOWN])
    counted, exact = (len(newest), True) if len(newest) < FAILED_SHOWN else queries.count_capped(rows, CAP)
    return {
        "count": Exact(counted) if exact else AtLeast(counted),
        "rows": [
            {
                "id": job.id,
                "link": shapes.job_link(job.id, shapes.name_of(job)),
                "error": job.error_type or job.reason,
                "ago": shapes.age(job.finished_at, now),
            }
            for job in newest
        ],
        "url": f"{reverse('admin:tasks_job_changelist')}?state=failed",
    }
