"""The list of jobs, kept true while it is looked at: what its script asks, and the row that it copies."""

from __future__ import annotations

from copy import copy
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse

from jobsplatform.kernel import clock
from jobsplatform.kernel.models import Process
from tasks.admin import live, shapes
from tasks.live import facts, reads
from tasks.models import Job

MOST_ROWS = 100
"""Rows that are asked about at once."""

PLACE = UUID(int=0)
"""Stands for a job's id in the row that is copied."""


class LiveList:
    """Part of the job admin: the list that follows its jobs."""

    change_list_template = "tasks/admin/jobs.html"

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        response: Any = super().changelist_view(request, extra_context)  # type: ignore[misc]
        shown = getattr(response, "context_data", None)
        if shown is not None and "cl" in shown and live.served():
            shown["live"] = self._live(request, shown["cl"])
        return response

    def _live(self, request: HttpRequest, changes: Any) -> dict[str, Any]:
        blank = copy(changes)
        now = clock.now()
        blank.result_list = [Job(id=PLACE, handler_key=":", created_at=now, due_at=now, updated_at=now)]
        return {
            "blank": blank,
            "rows_url": reverse("admin:tasks_job_rows"),
            "query": request.GET.urlencode(),
            "first": changes.page_num == 1,
            "size": changes.list_per_page,
            "place": PLACE,
            "now": now.isoformat(),
        }

    def rows_view(self, request: HttpRequest) -> HttpResponse:
        """``?ids=…&list=…``: these jobs as rows, and whether the list with that query string shows them."""
        if request.method not in {"GET", "HEAD"} or not self.has_view_permission(request):  # type: ignore[attr-defined]
            raise PermissionDenied
        ids = _ids(request.GET.get("ids", ""))
        jobs = [job for job in reads.jobs(ids) if job.id in ids] if ids else []
        listed = self._listed(request, request.GET.get("list", ""), ids) if jobs else set()
        owners = {job.worker_id for job in jobs if job.worker_id}
        names = dict(Process.objects.filter(pk__in=owners).values_list("pk", "name")) if owners else {}
        return JsonResponse({"rows": [_row(job, names, job.id in listed) for job in jobs]})

    def _listed(self, request: HttpRequest, query: str, ids: set[UUID]) -> set[UUID]:
        rows: QuerySet[Job] = self._filtered(request, query).filter(id__in=ids)  # type: ignore[attr-defined]
        return set(rows.values_list("id", flat=True))


def _row(job: Job, names: dict[Any, str], listed: bool) -> dict[str, Any]:
    return {
        **facts.job_row(job, payload=False),
        "hold": job.hold,
        "worker": names.get(job.worker_id, ""),
        "priority": shapes.priority(job.priority),
        "max_attempts": job.max_attempts,
        "listed": listed,
    }


def _ids(text: str) -> set[UUID]:
    """At most ``MOST_ROWS`` ids; what is none is left aside."""
    found = set()
    for part in text.split(",")[:MOST_ROWS]:
        try:
            found.add(UUID(part))
        except ValueError:
            continue
    return found
