"""Apps that own jobs besides the host; read-only."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from jobsplatform.kernel import clock
from jobsplatform.kernel.models import App
from tasks.admin import shapes
from tasks.admin.base import RecordAdmin


@admin.register(App)
class AppAdmin(RecordAdmin):
    """Who they are, whether they may work, and when they were last seen."""

    list_display = ("app_id", "title", "status", "seen")
    list_display_links = ("app_id",)
    search_fields = ("app_id", "title")
    ordering = ("app_id",)

    @admin.display(description="State")
    def status(self, app: App) -> SafeString:
        return shapes.badge("enabled", "good") if app.enabled else shapes.badge("disabled", "warning")

    @admin.display(description="Last seen")
    def seen(self, app: App) -> SafeString:
        return shapes.age(app.last_seen, clock.now())

    def page_context(self, request: HttpRequest, record: App) -> dict[str, Any]:
        return {
            "title": f"App {record.app_id}",
            "facts": [
                ("App", record.app_id),
                ("Title", record.title),
                ("State", self.status(record)),
                ("Last seen", shapes.instant(record.last_seen)),
                ("Services", ", ".join(map(str, record.services)) or shapes.NOTHING),
            ],
            "blocks": [("Quotas", shapes.pretty(record.quotas))] if record.quotas else [],
        }
