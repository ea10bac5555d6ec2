"""The audit trail: who did what; read-only."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobsplatform.kernel.models import AuditEvent
from scheduler.admin.addresses import schedule_link
from tasks.admin import shapes
from tasks.admin.base import RecordAdmin


@admin.register(AuditEvent)
class AuditAdmin(RecordAdmin):
    """Newest first. ``before`` and ``after`` are on the page of an event, not in the list."""

    list_display = ("when", "actor", "action", "target", "result", "ip")
    list_display_links = ("when",)
    list_filter = ("actor_kind", "outcome")
    list_filter_submit = False
    search_fields = ("target_id",)
    search_help_text = "Target (a job id, a tenant …) or action: the whole of it"
    ordering = ("-at", "-id")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEvent]:
        rows: QuerySet[AuditEvent] = super().get_queryset(request)
        found = request.resolver_match
        return (
            rows
            if found and found.url_name == "kernel_auditevent_change"
            else rows.defer("before", "after", "error")
        )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[AuditEvent], search_term: str
    ) -> tuple[QuerySet[AuditEvent], bool]:
        """Exact matches of an action or a target, both indexed."""
        term = search_term.strip()
        if not term or "\x00" in term:
            return (queryset, False) if not term else (queryset.none(), False)
        by_action = queryset.filter(action=term)
        types = list(AuditEvent.objects.order_by().values_list("target_type", flat=True).distinct()[:50])
        return by_action | queryset.filter(target_type__in=types, target_id=term), False

    @admin.display(description="When")
    def when(self, event: AuditEvent) -> SafeString:
        return shapes.instant(event.at)

    @admin.display(description="Target")
    def target(self, event: AuditEvent) -> SafeString | str:
        if event.target_type == "job":
            return shapes.job_link(event.target_id, f"job {event.target_id}")
        if event.target_type == "schedule":
            return schedule_link(event.target_id)
        return f"{event.target_type} {event.target_id}".strip()

    @admin.display(description="Outcome")
    def result(self, event: AuditEvent) -> SafeString:
        return shapes.badge(event.outcome, "good" if event.outcome == AuditEvent.Outcome.OK else "bad")

    def page_context(self, request: HttpRequest, record: AuditEvent) -> dict[str, Any]:
        facts = [
            ("When", shapes.instant(record.at)),
            ("Who", format_html("{} ({})", record.actor, record.get_actor_kind_display())),
            ("Action", record.action),
            ("Target", self.target(record)),
            ("Outcome", self.result(record)),
            ("Error", record.error),
            ("Tenant", record.tenant_id),
            ("App", record.app_id),
            ("From", record.ip),
            ("Request", record.request_id),
        ]
        changes = [("Before", record.before), ("After", record.after)]
        return {
            "title": f"{record.action} {record.target_type}",
            "facts": [(name, value) for name, value in facts if value != ""],
            "blocks": [(name, shapes.pretty(value)) for name, value in changes if value is not None],
        }
