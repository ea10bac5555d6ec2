"""The list of schedules."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Case, F, Min, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.expressions import OrderBy
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobsplatform.kernel import clock
from scheduler import queries
from scheduler.admin import filters, looks
from scheduler.admin.addresses import log_url, unquote
from scheduler.admin.backfilling import Backfilling
from scheduler.admin.bulk import BulkPauses
from scheduler.admin.editing import Editing
from scheduler.admin.schedule_page import SchedulePage
from scheduler.admin.verbs import Verbs
from scheduler.models import Schedule, ScheduleState
from scheduler.readable import ReadableInstant
from tasks.admin import live, shapes
from tasks.admin.base import RecordAdmin
from tasks.admin.paging import CappedList

LONGEST_SEARCH = 200


class ScheduleList(CappedList):
    """A page of schedules with where each stands: as many queries for one as for fifty."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Any] = list(self.result_list)
        self.result_list = rows
        for row, listed in zip(rows, queries.listed(rows, clock.now()), strict=True):
            row.listed = listed

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        """Empty ones last, whichever way the list is turned."""
        ordering = super().get_ordering(request, queryset)
        return [_nulls_last(one) if isinstance(one, OrderBy) else one for one in ordering]


def _nulls_last(order: OrderBy) -> OrderBy:
    return (
        order.expression.desc(nulls_last=True) if order.descending else order.expression.asc(nulls_last=True)
    )


@admin.register(Schedule)
class ScheduleAdmin(BulkPauses, Editing, Verbs, Backfilling, SchedulePage, RecordAdmin):
    """What runs when; the next slot first, those without one last."""

    list_display = ("what", "status", "timetable", "upcoming", "last_decision", "job")
    list_display_links = ("what",)
    list_filter = (
        filters.StateFilter, filters.TypeFilter, filters.KindFilter, filters.SourceFilter, filters.TenantFilter,
    )  # fmt: skip
    search_fields = ("id",)
    search_help_text = "A part of the id, the description or the job type"
    sortable_by = ("what", "upcoming")

    def get_urls(self) -> list[URLPattern]:
        # Before Django's own, whose pattern for a page takes any path.
        wrap = self.admin_site.admin_view
        verbs = {
            "edit": self.edit_view, "run": self.run_view, "pause": self.pause_view, "resume": self.resume_view,
            "skip": self.skip_view, "unskip": self.unskip_view, "backfill": self.backfill_view,
            "archive": self.archive_view, "restore": self.restore_view, "remove": self.remove_view,
        }  # fmt: skip
        own = [
            path(f"<path:object_id>/{name}/", wrap(view), name=f"scheduler_schedule_{name}")
            for name, view in verbs.items()
        ]
        bulk = path("-/bulk/<str:name>/", wrap(self.bulk_view), name="scheduler_schedule_bulk")
        return [bulk, *own, *super().get_urls()]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[CappedList]:
        return ScheduleList

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        everything = queries.pauses_of((), (), clock.now()).everything
        context = {
            "all_paused": looks.pause_sentence(everything) if everything is not None else "",
            # What schedules do is told to those who may see the jobs of all of them.
            "topics": live.topics("system") if request.user.has_perm("tasks.view_job") else "",
            "now": clock.now().isoformat(),
        }
        return super().changelist_view(request, {**context, **(extra_context or {})})

    change_list_template = "scheduler/admin/schedules.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Schedule]:
        rows: QuerySet[Schedule] = super().get_queryset(request)
        found = request.resolver_match
        if found is None or found.url_name != "scheduler_schedule_changelist":
            return rows
        return rows.defer("params", "applied").annotate(next_slot=next_slot())

    def get_ordering(self, request: HttpRequest) -> list[Any]:
        found = request.resolver_match
        if found is None or found.url_name != "scheduler_schedule_changelist":
            return ["id"]
        return [F("next_slot").asc(nulls_last=True), "id"]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Schedule], search_term: str
    ) -> tuple[QuerySet[Schedule], bool]:
        """A part of what a person would call it; the table is read once."""
        term = search_term.strip()
        if not term:
            return queryset, False
        if "\x00" in term or len(term) > LONGEST_SEARCH:
            return queryset.none(), False
        found = queries.ScheduleFilter(search=term, archived=None).queryset()
        return queryset.filter(id__in=found.values("id")), False

    @admin.display(description="Schedule", ordering="id")
    def what(self, schedule: Schedule) -> SafeString:
        return format_html(
            '<span class="jp-what">{}</span>{}',
            schedule.id,
            format_html(' <small class="jp-dim jp-line">{}</small>', schedule.description)
            if schedule.description
            else "",
        )

    @admin.display(description="State")
    def status(self, schedule: Any) -> SafeString:
        return looks.state_badge(looks.state_word(schedule.listed), looks.why_state(schedule.listed))

    @admin.display(description="When")
    def timetable(self, schedule: Schedule) -> str:
        return looks.sentence(schedule)

    @admin.display(description="Next slot", ordering=F("next_slot").asc(nulls_last=True))
    def upcoming(self, schedule: Any) -> SafeString:
        slot = schedule.listed.next_slot_at
        if slot is None:
            return SafeString(shapes.NOTHING)
        return format_html(
            '{} <small class="jp-dim">{}</small>',
            looks.in_zone(slot, looks.zone_of(schedule.timezone)),
            looks.distance(slot, clock.now()),
        )

    @admin.display(description="Last decision")
    def last_decision(self, schedule: Any) -> SafeString:
        last = schedule.listed.last
        if last is None:
            return SafeString(shapes.NOTHING)
        return format_html(
            '<a href="{}">{} {}</a> <small class="jp-dim">{}</small>',
            log_url(last.row.id),
            looks.decision_badge(last.row),
            looks.outcome_badge(last),
            looks.distance(last.row.triggered_at, clock.now()),
        )

    @admin.display(description="Job type")
    def job(self, schedule: Schedule) -> str:
        return looks.job_type(schedule)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().history_view(request, unquote(object_id), extra_context)


def next_slot() -> Case:
    """The next slot of any of its tenants, for ordering; none while it is parked."""
    own = ScheduleState.objects.filter(schedule_id=OuterRef("pk"), next_due_at__isnull=False).order_by()
    first = own.values("schedule_id").annotate(slot=Min("next_slot_at")).values("slot")
    return Case(
        When(fault_at__isnull=False, then=Value(None)),
        When(archived_at__isnull=False, then=Value(None)),
        default=Subquery(first),
        output_field=ReadableInstant(),
    )
