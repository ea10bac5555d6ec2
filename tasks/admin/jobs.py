"""The list of jobs."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobsplatform.kernel import clock
from jobsplatform.kernel.models import Process
from tasks import progress as far
from tasks.admin import filters, shapes
from tasks.admin.base import RecordAdmin
from tasks.admin.bulk import BulkVerbs
from tasks.admin.job_page import JobPage
from tasks.admin.live_list import LiveList
from tasks.admin.paging import CappedList
from tasks.models import Job
from tasks.states import Role, State

NOT_LISTED = ("params", "data", "result", "checkpoint", "error")
"""Large columns: a list of fifty never reads them."""
FOUND_A_FIELD = 1000
"""How many of the newest matches of a user, key or schedule a search shows."""


class JobList(CappedList):
    """A page of jobs, with the names of their workers and the progress of their leaders: two queries more."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        jobs: list[Any] = list(self.result_list)
        self.result_list = jobs
        owners = {job.worker_id for job in jobs if job.worker_id}
        names = dict(Process.objects.filter(pk__in=owners).values_list("pk", "name")) if owners else {}
        leading = {job.leader_id for job in jobs if job.role == Role.ALIAS and job.leader_id}
        leaders = Job.objects.only(*_PROGRESS, "state").in_bulk(leading) if leading else {}
        for job in jobs:
            job.worker_name = names.get(job.worker_id, "")
            leader = leaders.get(job.leader_id) if job.role == Role.ALIAS else None
            follows = leader is not None and job.state in (State.PENDING, leader.state)
            job.shown = leader if follows else job


_PROGRESS = (
    "progress_done",
    "progress_total",
    "progress_label",
    "progress_at",
    "started_at",
    "attempt",
    "reason",
)


@admin.register(Job)
class JobAdmin(BulkVerbs, LiveList, JobPage, RecordAdmin):
    """What the platform has been asked to do, newest first."""

    list_display = ("what", "status", "queue", "urgency", "progress", "age", "tries", "worker")
    list_display_links = ("what",)
    list_filter = (
        filters.StateFilter, filters.TypeFilter, filters.AppFilter, filters.QueueFilter, filters.PriorityFilter,
        filters.CreatedFilter, filters.TenantFilter, filters.ParentFilter,
    )  # fmt: skip
    search_fields = ("id",)
    search_help_text = "Job id, dedupe key, user or schedule: the whole of it"
    ordering = ("-id",)

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        own = [
            path("rows/", wrap(self.rows_view), name="tasks_job_rows"),
            path("bulk/<str:name>/", wrap(self.bulk_view), name="tasks_job_bulk"),
            path("<str:object_id>/cancel/", wrap(self.cancel_view), name="tasks_job_cancel"),
            path("<str:object_id>/retry/", wrap(self.retry_view), name="tasks_job_retry"),
            path("<str:object_id>/resume/", wrap(self.resume_view), name="tasks_job_resume"),
        ]
        return own + super().get_urls()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[CappedList]:
        return JobList

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        rows: QuerySet[Job] = super().get_queryset(request)
        found = request.resolver_match
        return rows if found and found.url_name == "tasks_job_change" else rows.defer(*NOT_LISTED)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Job], search_term: str
    ) -> tuple[QuerySet[Job], bool]:
        """Exact matches alone, each by its own index."""
        term = search_term.strip()
        if not term:
            return queryset, False
        try:
            return queryset.filter(id=UUID(term)), False
        except ValueError:
            pass
        if "\x00" in term:
            return queryset.none(), False
        ids: set[UUID] = set()
        for field in ("dedupe_key", "user_id", "schedule_id"):
            rows = Job.objects.filter(**{field: term}).order_by("-id")
            ids.update(rows.values_list("id", flat=True)[:FOUND_A_FIELD])
        return queryset.filter(id__in=ids), False

    @admin.display(description="Job")
    def what(self, job: Job) -> SafeString:
        return format_html(
            '<span class="jp-what" data-jp-id="{}">{}</span> <small class="jp-id">{}</small>',
            job.id,
            shapes.name_of(job),
            str(job.id)[-12:],
        )

    @admin.display(description="State")
    def status(self, job: Job) -> SafeString:
        shown = _shown(job)
        return shapes.state_badge(shown.state, job.hold if shown is job else "", job.reason or shown.reason)

    @admin.display(description="Priority")
    def urgency(self, job: Job) -> str:
        return shapes.priority(job.priority)

    @admin.display(description="Progress")
    def progress(self, job: Job) -> SafeString:
        shown = _shown(job)
        eta = far.eta_seconds(shown, clock.now())
        return shapes.bar(shown.progress_done, shown.progress_total, shown.progress_label, eta)

    @admin.display(description="Age")
    def age(self, job: Job) -> SafeString:
        return shapes.age(job.created_at, clock.now())

    @admin.display(description="Attempt")
    def tries(self, job: Job) -> SafeString:
        return format_html(
            "<span><span data-jp-attempt>{}</span> of <span data-jp-most>{}</span></span>",
            _shown(job).attempt,
            job.max_attempts,
        )

    @admin.display(description="Worker", empty_value=shapes.NOTHING)
    def worker(self, job: Job) -> str | None:
        return getattr(job, "worker_name", "") or None


def _shown(job: Any) -> Job:
    """Whose state and progress the row shows: an alias shows its leader's."""
    shown: Job = getattr(job, "shown", job)
    return shown
