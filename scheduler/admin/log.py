"""The trigger log: every decision about a slot, newest first."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import PlatformError
from scheduler import log_reads, why
from scheduler.admin import filters, looks
from scheduler.admin.addresses import schedule_link
from scheduler.admin.filters import ScheduleFilter
from scheduler.models import Schedule, ScheduleTriggerLog
from scheduler.timetables.errors import TimetableError
from tasks.admin import shapes
from tasks.admin.base import RecordAdmin
from tasks.admin.paging import CappedList


class LogList(CappedList):
    """A page of decisions with their outcomes and zones: two queries more, however many rows."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Any] = list(self.result_list)
        self.result_list = rows
        zones = dict(
            Schedule.objects.filter(id__in={row.schedule_id for row in rows}).values_list("id", "timezone")
        )
        for row, entry in zip(rows, log_reads.entries(rows), strict=True):
            row.entry = entry
            row.zone = looks.zone_of(zones.get(row.schedule_id, "UTC"))


@admin.register(ScheduleTriggerLog)
class TriggerLogAdmin(RecordAdmin):
    """Written once, never changed."""

    list_display = ("what", "slot", "decision", "outcome", "decided", "late", "job")
    list_display_links = ("what",)
    list_filter = (
        ScheduleFilter, filters.StatusFilter, filters.OriginFilter, filters.DecidedFilter, filters.LogTenantFilter,
    )  # fmt: skip
    search_fields = ("schedule_id",)
    search_help_text = "Schedule id or job id: the whole of it"
    ordering = ("-triggered_at", "-id")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[CappedList]:
        return LogList

    def get_queryset(self, request: HttpRequest) -> QuerySet[ScheduleTriggerLog]:
        rows: QuerySet[ScheduleTriggerLog] = super().get_queryset(request)
        found = request.resolver_match
        whole = found is not None and found.url_name == "scheduler_scheduletriggerlog_change"
        return rows if whole else rows.defer("error")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[ScheduleTriggerLog], search_term: str
    ) -> tuple[QuerySet[ScheduleTriggerLog], bool]:
        """Exact matches alone, each by its own index."""
        term = search_term.strip()
        if not term:
            return queryset, False
        if "\x00" in term:
            return queryset.none(), False
        try:
            return queryset.filter(task_id=UUID(term)), False
        except ValueError:
            return queryset.filter(schedule_id=term), False

    @admin.display(description="Schedule")
    def what(self, row: ScheduleTriggerLog) -> SafeString:
        tenant = format_html(' <small class="jp-dim">{}</small>', row.tenant_id) if row.tenant_id else ""
        return format_html('<span class="jp-what">{}</span>{}', row.schedule_id, tenant)

    @admin.display(description="Slot")
    def slot(self, row: Any) -> SafeString:
        return looks.slot(row, row.zone)

    @admin.display(description="Decision")
    def decision(self, row: Any) -> SafeString:
        origin = "" if row.origin == "auto" else row.origin.partition(":")[0]
        return format_html(
            '{}{}', looks.decision_badge(row),
            format_html(' <small class="jp-dim">{}</small>', origin) if origin else "",
        )  # fmt: skip

    @admin.display(description="Outcome")
    def outcome(self, row: Any) -> SafeString | str:
        return looks.outcome_badge(row.entry) or row.reason

    @admin.display(description="Decided")
    def decided(self, row: ScheduleTriggerLog) -> SafeString:
        return shapes.age(row.triggered_at, clock.now())

    @admin.display(description="Started after")
    def late(self, row: Any) -> str:
        late = row.entry.lateness
        return shapes.NOTHING if late is None or late.total is None else shapes.short(late.total * 1000)

    @admin.display(description="Job")
    def job(self, row: ScheduleTriggerLog) -> SafeString:
        if row.task_id is None:
            return SafeString(shapes.NOTHING)
        return shapes.job_link(row.task_id, str(row.task_id)[-12:])

    def page_context(self, request: HttpRequest, record: ScheduleTriggerLog) -> dict[str, Any]:
        entry = log_reads.entries([record])[0]
        name = Schedule.objects.filter(id=record.schedule_id).values_list("timezone", flat=True).first()
        zone = looks.zone_of(name or "UTC")
        sentence, chain = _why(record)
        late = entry.lateness
        facts = [
            ("Schedule", schedule_link(record.schedule_id, record.tenant_id) if name else record.schedule_id),
            ("Tenant", record.tenant_id),
            ("Slot", looks.slot(record, zone)),
            ("Decision", looks.decision_badge(record)),
            ("Reason", record.reason),
            ("Outcome", looks.outcome_badge(entry)),
            ("Why", sentence),
            ("Origin", record.origin),
            ("Decided", shapes.instant(record.triggered_at)),
            ("Decided by", record.decided_by),
            ("Job", shapes.job_link(record.task_id) if record.task_id else ""),
            ("Job type", record.task_type.lstrip(":")),
            *((part.replace("_", " ").capitalize(), shapes.short(seconds * 1000))
              for part, seconds in (late.parts() if late is not None else ())),
            ("Revision", record.revision or ""),
            ("Request", record.request_id),
            ("Trace", record.trace_id),
            ("Lock", record.lock_key),
            ("Fencing token", record.fencing_token),
        ]  # fmt: skip
        blocks = [("Error", record.error)] if record.error else []
        if chain:
            blocks.append(("How that is known", "\n".join(f"{step}: {fact}" for step, fact in chain)))
        return {
            "title": f"{record.schedule_id}: {record.status}",
            "facts": [(label, value) for label, value in facts if value not in ("", None)],
            "blocks": blocks,
        }


def _why(record: ScheduleTriggerLog) -> tuple[str, tuple[tuple[str, str], ...]]:
    if record.planned_at is None:
        return "", ()
    try:
        answer = why.why(record.schedule_id, record.planned_at, record.tenant_id, clock.now())
    except (PlatformError, TimetableError):
        return "", ()
    return answer.sentence, answer.chain
