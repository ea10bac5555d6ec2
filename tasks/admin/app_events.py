"""What apps tell users; read-only."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from tasks.admin import shapes
from tasks.admin.base import RecordAdmin
from tasks.models import AppEvent


@admin.register(AppEvent)
class AppEventAdmin(RecordAdmin):
    """Newest first. The payload is the app's own: seeing it needs the permission for payloads."""

    list_display = ("when", "owner", "user", "kind", "scope")
    list_display_links = ("when",)
    search_fields = ("user_id",)
    search_help_text = "A user: the whole of it"
    ordering = ("-id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[AppEvent]:
        rows: QuerySet[AppEvent] = super().get_queryset(request)
        return rows.defer("payload")

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """By its index."""
        term = search_term.strip()
        if not term or "\x00" in term:
            return (queryset.none() if term else queryset), False
        return queryset.filter(user_id=term), False

    @admin.display(description="When")
    def when(self, event: AppEvent) -> SafeString:
        return shapes.instant(event.created_at)

    @admin.display(description="App")
    def owner(self, event: AppEvent) -> str:
        return event.app_id

    @admin.display(description="User", empty_value=shapes.NOTHING)
    def user(self, event: AppEvent) -> str | None:
        return event.user_id or None

    def page_context(self, request: HttpRequest, record: AppEvent) -> dict[str, Any]:
        may = request.user.has_perm("tasks.view_payload")
        facts = [
            ("When", self.when(record)),
            ("App", record.app_id),
            ("User", record.user_id),
            ("Kind", record.kind),
            ("Scope", record.scope),
            ("Payload", "" if may else "hidden: seeing it needs its own permission"),
        ]
        return {
            "title": f"{record.kind} of {record.app_id}",
            "facts": [(name, value) for name, value in facts if value != ""],
            "blocks": [("Payload", shapes.pretty(record.payload))] if may else [],
        }
