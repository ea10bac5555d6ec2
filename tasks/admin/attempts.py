"""Ended runs, newest first."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from jobsplatform.kernel.errors import PlatformError
from tasks.admin import shapes
from tasks.admin.base import RecordAdmin
from tasks.filters import read_id
from tasks.models import JobAttempt


@admin.register(JobAttempt)
class AttemptAdmin(RecordAdmin):
    """One row an ended run; written once, never changed."""

    list_display = ("what", "number", "ending", "started", "length", "worker", "trouble")
    list_display_links = ("what",)
    list_select_related = ("job",)
    search_fields = ("job__id",)
    search_help_text = "Job id"
    ordering = ("-id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[JobAttempt]:
        rows: QuerySet[JobAttempt] = super().get_queryset(request).select_related("job")
        found = request.resolver_match
        whole = found is not None and found.url_name == "tasks_jobattempt_change"
        job = ("id", "handler_key", "state")
        if whole:
            return rows.only(*(f.name for f in JobAttempt._meta.fields), *(f"job__{name}" for name in job))
        listed = (
            "id",
            "job",
            "number",
            "outcome",
            "cause",
            "started_at",
            "finished_at",
            "worker",
            "error_type",
        )
        return rows.only(*listed, *(f"job__{name}" for name in job))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[JobAttempt], search_term: str
    ) -> tuple[QuerySet[JobAttempt], bool]:
        """Runs of one job."""
        if not search_term.strip():
            return queryset, False
        try:
            return queryset.filter(job_id=read_id(search_term.strip())), False
        except PlatformError:
            return queryset.none(), False

    @admin.display(description="Job")
    def what(self, attempt: JobAttempt) -> str:
        return shapes.name_of(attempt.job)

    @admin.display(description="Ended as")
    def ending(self, attempt: JobAttempt) -> SafeString:
        return shapes.outcome_badge(attempt.outcome, attempt.cause)

    @admin.display(description="Started")
    def started(self, attempt: JobAttempt) -> SafeString:
        return shapes.instant(attempt.started_at)

    @admin.display(description="Took")
    def length(self, attempt: JobAttempt) -> str:
        return shapes.span(attempt.finished_at - attempt.started_at)

    @admin.display(description="Error", empty_value=shapes.NOTHING)
    def trouble(self, attempt: JobAttempt) -> str | None:
        return attempt.error_type or None

    def page_context(self, request: HttpRequest, record: JobAttempt) -> dict[str, Any]:
        facts = [
            ("Job", shapes.job_link(record.job_id, str(record.job))),
            ("Attempt", record.number),
            ("Run lease", record.lease),
            ("Ended as", self.ending(record)),
            ("Reason", record.reason),
            ("Started", shapes.instant(record.started_at)),
            ("Ended", shapes.instant(record.finished_at)),
            ("Took", self.length(record)),
            ("Worker", record.worker or record.worker_id or ""),
            ("Count", "" if record.count is None else f"{record.count:,}"),
            ("Error", f"{record.error_type}: {record.error}".strip(": ")),
        ]
        return {
            "title": f"Attempt {record.number} of {shapes.name_of(record.job)}",
            "facts": [(name, value) for name, value in facts if value not in ("", None)],
            "blocks": [("Traceback", record.traceback)] if record.traceback else [],
        }
