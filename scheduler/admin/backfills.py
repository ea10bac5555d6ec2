"""Backfills: how far each is, and the button that cancels one."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import DropdownFilter

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import PlatformError
from scheduler import backfill, log_reads
from scheduler.admin import looks
from scheduler.admin.addresses import backfill_url, list_url, schedule_link
from scheduler.admin.schedule_page import backfill_badge, decision
from scheduler.models import Backfill, Schedule, ScheduleTriggerLog
from tasks.admin import shapes
from tasks.admin.base import RecordAdmin, actor_of, refuse, verb
from tasks.admin.job_page import Button

RUNS = 20
"""Newest runs that the page of a backfill lists."""


class StateFilter(DropdownFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state, state) for state in Backfill.State.values]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Backfill]) -> QuerySet[Backfill]:
        return queryset.filter(state=self.value()) if self.value() in Backfill.State.values else queryset


@admin.register(Backfill)
class BackfillAdmin(RecordAdmin):
    """Newest first."""

    list_display = ("what", "status", "how_far", "mode", "span", "author", "since")
    list_display_links = ("what",)
    list_filter = (StateFilter,)
    list_filter_submit = False
    search_fields = ("schedule_id",)
    search_help_text = "Schedule: the whole id"
    page_template = "scheduler/admin/backfill_page.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.cancel_view)
        return [
            path("<str:object_id>/cancel/", view, name="scheduler_backfill_cancel"),
            *super().get_urls(),
        ]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Backfill], search_term: str
    ) -> tuple[QuerySet[Backfill], bool]:
        """Whole ids."""
        term = search_term.strip()
        if not term:
            return queryset, False
        return (queryset.none() if "\x00" in term else queryset.filter(schedule_id=term)), False

    @admin.display(description="Schedule")
    def what(self, row: Backfill) -> SafeString:
        tenant = format_html(' <small class="jp-dim">{}</small>', row.tenant_id) if row.tenant_id else ""
        return format_html('<span class="jp-what">{}</span>{}', row.schedule_id, tenant)

    @admin.display(description="State")
    def status(self, row: Backfill) -> SafeString:
        return backfill_badge(row)

    @admin.display(description="Progress")
    def how_far(self, row: Backfill) -> SafeString:
        # As of its last step: the list asks for no jobs.
        return shapes.bar(row.done + row.failed + row.passed_over, row.total, row.note)

    @admin.display(description="Range (UTC)")
    def span(self, row: Backfill) -> str:
        return f"{row.after:%Y-%m-%d %H:%M} – {row.until:%Y-%m-%d %H:%M}"

    @admin.display(description="Begun")
    def since(self, row: Backfill) -> SafeString:
        return shapes.instant(row.created_at)

    def page_context(self, request: HttpRequest, record: Backfill) -> dict[str, Any]:
        now = clock.now()
        name = Schedule.objects.filter(id=record.schedule_id).values_list("timezone", flat=True).first()
        zone = looks.zone_of(name or "UTC")
        progress = backfill.progress(record)
        facts = [
            ("Schedule", schedule_link(record.schedule_id, record.tenant_id) if name else record.schedule_id),
            ("Tenant", record.tenant_id),
            ("State", backfill_badge(record)),
            ("Note", record.note),
            ("Slots", f"{progress.total:,}, of which {progress.left:,} are left to look at"),
            ("Passed over", f"{progress.passed_over:,}"),
            ("Jobs", f"{progress.submitted:,} made, {progress.running:,} unfinished"),
            ("Completed", f"{progress.done:,}"),
            ("Failed", f"{progress.failed:,}"),
            ("After", looks.in_zone(record.after, zone)),
            ("Until", looks.in_zone(record.until, zone)),
            ("Runs", record.get_mode_display()),
            ("At once", record.concurrency),
            ("By", record.author),
            ("Begun", shapes.instant(record.created_at)),
            ("Ended", shapes.instant(record.ended_at) if record.ended_at else ""),
        ]
        rows = ScheduleTriggerLog.objects.filter(
            schedule_id=record.schedule_id, tenant_id=record.tenant_id, origin=backfill.origin_of(record),
            triggered_at__gte=record.created_at,
        )  # fmt: skip
        entries = log_reads.entries(rows.order_by("-triggered_at", "-id")[:RUNS])
        running = record.state == Backfill.State.RUNNING
        cancel = Button(
            "Cancel", reverse("admin:scheduler_backfill_cancel", args=[str(record.pk)]), "danger",
            "Begin no further slot of this backfill? Its jobs go on.",
        )  # fmt: skip
        ended = progress.done + progress.failed + progress.passed_over
        return {
            "title": f"Backfill of {record.schedule_id}",
            "bar": shapes.bar(ended, progress.total),
            "facts": [(label, value) for label, value in facts if value != ""],
            "decisions": [decision(entry, zone, now) for entry in entries],
            "buttons": [cancel] if running and request.user.has_perm("scheduler.backfill_schedule") else [],
        }

    @verb("scheduler.backfill_schedule")
    def cancel_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Begin no further slot."""
        try:
            row = backfill.find(object_id)
            if row.state != Backfill.State.RUNNING:
                messages.warning(request, "Nothing done: it has ended.")
            else:
                backfill.cancel(object_id, actor=actor_of(request))
                messages.success(request, "Cancelled: no further slot begins. Its jobs go on.")
        except PlatformError as error:
            refuse(request, error)
            return HttpResponseRedirect(list_url("backfill"))
        return HttpResponseRedirect(backfill_url(row.id))
