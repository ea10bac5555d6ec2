"""Work that the platform does not run, as apps tell of it; read-only."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from jobsplatform.kernel import clock
from tasks.admin import shapes
from tasks.admin.base import RecordAdmin
from tasks.models import ExternalJob


@admin.register(ExternalJob)
class ExternalJobAdmin(RecordAdmin):
    """The last word on each, newest first. What has expired is removed."""

    list_display = ("what", "owner", "state", "far", "user", "message", "told")
    list_display_links = ("what",)
    list_filter = ("status",)
    list_filter_submit = False
    search_fields = ("job_id",)
    search_help_text = "The app's own id of it, or a user: the whole of it"
    ordering = ("-id",)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Exact matches alone."""
        term = search_term.strip()
        if not term or "\x00" in term:
            return (queryset.none() if term else queryset), False
        return queryset.filter(job_id=term) | queryset.filter(user_id=term), False

    @admin.display(description="Work")
    def what(self, row: ExternalJob) -> str:
        return row.title or row.job_id

    @admin.display(description="App")
    def owner(self, row: ExternalJob) -> str:
        return row.app_id

    @admin.display(description="User", empty_value=shapes.NOTHING)
    def user(self, row: ExternalJob) -> str | None:
        return row.user_id or None

    @admin.display(description="State")
    def state(self, row: ExternalJob) -> SafeString:
        return shapes.state_badge(row.status)

    @admin.display(description="Progress")
    def far(self, row: ExternalJob) -> SafeString:
        left = row.eta_seconds
        if left is not None:
            left = max(0.0, left - (clock.now() - row.updated_at).total_seconds())
        return shapes.bar(row.progress, 100, "", left)

    @admin.display(description="Last told")
    def told(self, row: ExternalJob) -> SafeString:
        return shapes.age(row.updated_at, clock.now())

    def page_context(self, request: HttpRequest, record: ExternalJob) -> dict[str, Any]:
        facts = [
            ("App", record.app_id),
            ("Its id", record.job_id),
            ("Title", record.title),
            ("State", self.state(record)),
            ("Progress", self.far(record)),
            ("Message", record.message),
            ("User", record.user_id),
            ("First told", shapes.instant(record.created_at)),
            ("Last told", shapes.instant(record.updated_at)),
            ("Ended", shapes.instant(record.finished_at) if record.finished_at else ""),
            ("Removed after", shapes.instant(record.expires_at)),
        ]
        return {
            "title": f"{record.title or record.job_id} of {record.app_id}",
            "facts": [(name, value) for name, value in facts if value != ""],
        }
