"""Filters of the lists of schedules and decisions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import DropdownFilter, TextFilter

from jobsplatform.kernel import clock
from scheduler.log_reads import LogFilter
from scheduler.models import Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.queries import pauses_in_force
from scheduler.states import PauseScope, Status, TriggerType
from tasks import registry
from tasks.admin.filters import SpanFilter

HOST = "(host)"


def exactly(rows: QuerySet[Any], **column: str | None) -> QuerySet[Any]:
    """Rows with this value; all without one, and none for what no database can hold."""
    ((name, value),) = column.items()
    if not value:
        return rows
    return rows.none() if "\x00" in value else rows.filter(**{name: value})


class StateFilter(DropdownFilter):
    """Archived schedules are shown when they are asked for."""

    title = "state"
    parameter_name = "state"
    all_option = ("", "In use")

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(word, word) for word in ("active", "paused", "faulty", "done", "archived")] + [
            ("all", "all, archived ones too")
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> QuerySet[Schedule]:
        wanted = self.value()
        if wanted == "all":
            return queryset
        if wanted == "archived":
            return queryset.filter(archived_at__isnull=False)
        rows = queryset.filter(archived_at__isnull=True)
        if wanted == "faulty":
            return rows.filter(fault_at__isnull=False)
        if wanted not in {"active", "paused", "done"}:
            return rows
        rows = rows.filter(fault_at__isnull=True)
        paused = paused_now(clock.now())
        if wanted == "paused":
            return rows.filter(paused)
        coming = Q(trigger_type=TriggerType.MANUAL) | Exists(
            ScheduleState.objects.filter(schedule_id=OuterRef("pk"), next_due_at__isnull=False)
        )
        return rows.exclude(paused).filter(coming if wanted == "active" else ~coming)


def paused_now(now: datetime) -> Q:
    """Schedules that a pause of their own, or of everything, stops."""
    pauses = pauses_in_force(now)
    if pauses.filter(scope=PauseScope.ALL).exists():
        return Q(id__isnull=False)
    return Q(id__in=pauses.filter(scope=PauseScope.SCHEDULE).values("target"))


class TypeFilter(DropdownFilter):
    title = "job type"
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(registry.shown(key), registry.shown(key)) for key in sorted(registry.keys())]

    def has_output(self) -> bool:
        return True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> QuerySet[Schedule]:
        if not self.value():
            return queryset
        app_id, _, job_type = self.value().rpartition(":")
        return exactly(queryset, job_type=job_type).filter(app_id=app_id.replace("\x00", ""))


class KindFilter(DropdownFilter):
    title = "kind"
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind, kind) for kind in TriggerType]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> QuerySet[Schedule]:
        return exactly(queryset, trigger_type=self.value())


class SourceFilter(DropdownFilter):
    title = "origin"
    parameter_name = "source"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("code", "declared in code"), ("admin", "made by people")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> QuerySet[Schedule]:
        return exactly(queryset, source=self.value())


class TenantFilter(TextFilter):
    """Schedules that plan for this tenant."""

    title = "tenant"
    parameter_name = "tenant"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> QuerySet[Schedule]:
        if not self.value():
            return queryset
        own = exactly(ScheduleState.objects.filter(schedule_id=OuterRef("pk")), tenant_id=self.value())
        return queryset.filter(Exists(own))


# -- decisions ---------------------------------------------------------------------------------------


class ScheduleFilter(TextFilter):
    title = "schedule (its whole id)"
    parameter_name = "schedule"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return exactly(queryset, schedule_id=self.value())


class LogTenantFilter(TextFilter):
    title = "tenant"
    parameter_name = "tenant"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return exactly(queryset, tenant_id=self.value())


class StatusFilter(DropdownFilter):
    title = "decision"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(status, status) for status in Status]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[ScheduleTriggerLog]
    ) -> QuerySet[ScheduleTriggerLog]:
        return queryset.filter(status=self.value()) if self.value() in list(Status) else queryset


class OriginFilter(DropdownFilter):
    title = "origin"
    parameter_name = "origin"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("auto", "planned slots"), ("manual", "run now"), ("backfill", "backfills")]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[ScheduleTriggerLog]
    ) -> QuerySet[ScheduleTriggerLog]:
        if self.value() not in {"auto", "manual", "backfill"}:
            return queryset
        return queryset & LogFilter(origin=self.value()).queryset()


class DecidedFilter(SpanFilter):
    """Answered by an index."""

    title = "decided"
    parameter_name = "decided_from"
    other_parameter = "decided_to"
    bounds = ("triggered_at__gte", "triggered_at__lt")
