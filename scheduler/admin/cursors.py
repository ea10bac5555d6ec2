"""Cursors: how far the slots of each schedule are decided, for each tenant; read-only."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import DropdownFilter

from jobsplatform.kernel import clock
from scheduler.admin import looks
from scheduler.admin.addresses import schedule_link
from scheduler.models import ScheduleState
from tasks.admin import shapes
from tasks.admin.base import RecordAdmin


class DueFilter(DropdownFilter):
    title = "look"
    parameter_name = "look"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("due", "due now"), ("coming", "to come"), ("none", "nothing to come, or parked")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ScheduleState]) -> QuerySet[ScheduleState]:
        wanted, now = self.value(), clock.now()
        if wanted == "due":
            return queryset.filter(next_due_at__lte=now)
        if wanted == "coming":
            return queryset.filter(next_due_at__gt=now)
        return queryset.filter(next_due_at__isnull=True) if wanted == "none" else queryset


@admin.register(ScheduleState)
class CursorAdmin(RecordAdmin):
    """One row a schedule and tenant."""

    list_display = ("what", "decided_to", "next_look", "next_slot", "last_fired", "count")
    list_display_links = ("what",)
    list_filter = (DueFilter,)
    list_filter_submit = False
    search_fields = ("schedule__id",)
    search_help_text = "Schedule or tenant: the whole id"
    ordering = ("schedule_id", "tenant_id")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ScheduleState]:
        rows: QuerySet[ScheduleState] = super().get_queryset(request).select_related("schedule")
        return rows.defer("schedule__params", "schedule__applied", "schedule__tenants")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[ScheduleState], search_term: str
    ) -> tuple[QuerySet[ScheduleState], bool]:
        """Whole ids."""
        term = search_term.strip()
        if not term:
            return queryset, False
        if "\x00" in term:
            return queryset.none(), False
        return queryset.filter(Q(schedule_id=term) | Q(tenant_id=term)), False

    @admin.display(description="Schedule")
    def what(self, state: ScheduleState) -> SafeString:
        tenant = format_html(' <small class="jp-dim">{}</small>', state.tenant_id) if state.tenant_id else ""
        return format_html('<span class="jp-what">{}</span>{}', state.schedule_id, tenant)

    @admin.display(description="Decided up to")
    def decided_to(self, state: ScheduleState) -> SafeString:
        return looks.in_zone(state.last_planned_at, looks.zone_of(state.schedule.timezone))

    @admin.display(description="Next look")
    def next_look(self, state: ScheduleState) -> str:
        due = state.next_due_at
        return shapes.NOTHING if due is None else looks.distance(due, clock.now())

    @admin.display(description="Next slot")
    def next_slot(self, state: ScheduleState) -> SafeString:
        return looks.in_zone(state.next_slot_at, looks.zone_of(state.schedule.timezone))

    @admin.display(description="Last fired slot")
    def last_fired(self, state: ScheduleState) -> SafeString:
        return looks.in_zone(state.last_fired_at, looks.zone_of(state.schedule.timezone))

    @admin.display(description="Fired")
    def count(self, state: ScheduleState) -> str:
        return f"{state.fired:,}"

    def page_context(self, request: HttpRequest, record: ScheduleState) -> dict[str, Any]:
        zone = looks.zone_of(record.schedule.timezone)
        facts = [
            ("Schedule", schedule_link(record.schedule_id, record.tenant_id)),
            ("Tenant", record.tenant_id),
            ("Decided up to", looks.in_zone(record.last_planned_at, zone)),
            ("Next slot", looks.in_zone(record.next_slot_at, zone)),
            ("Next look", shapes.instant(record.next_due_at)),
            ("Last fired slot", looks.in_zone(record.last_fired_at, zone)),
            ("Fired at", shapes.instant(record.last_triggered_at)),
            ("Looked at", shapes.instant(record.last_checked_at)),
            ("Fired by itself", f"{record.fired:,}"),
            ("Caught up in this episode", record.episode or ""),
            ("To be skipped", ", ".join(map(str, record.skips))),
            ("Of revision", record.revision),
        ]
        return {"title": str(record), "facts": [(name, value) for name, value in facts if value != ""]}
