"""Filters of the lists of schedules and decisions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.contrib.filters.admin import DropdownFilter, TextFilter

from jobsplatform.kernel import clock
from scheduler.log_reads import LogFilter
from scheduler.models import Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.queries import pauses_in_force
from scheduler.states import PauseScope, Status, TriggerType
from tasks import registry

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


class DecidedFilter(admin.SimpleListFilter):
    """From and to, in the site's time zone; answered by an index."""

    title = "decided"
    parameter_name = "decided_from"
    other_parameter = "decided_to"
    template = "tasks/admin/filter_created.html"

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        if self.other_parameter in params:
            self.used_parameters[self.other_parameter] = params.pop(self.other_parameter)[-1]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return []

    def has_output(self) -> bool:
        return True

    def expected_parameters(self) -> list[str]:
        return [self.parameter_name, self.other_parameter]

    def choices(self, changelist: Any) -> Iterator[dict[str, Any]]:
        zone = timezone.get_current_timezone_name()
        for name, label in ((self.parameter_name, "from"), (self.other_parameter, "to")):
            yield {
                "name": name,
                "label": f"Decided {label} ({zone})",
                "value": self.used_parameters.get(name, ""),
            }

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[ScheduleTriggerLog]
    ) -> QuerySet[ScheduleTriggerLog]:
        for name, lookup in (
            (self.parameter_name, "triggered_at__gte"),
            (self.other_parameter, "triggered_at__lt"),
        ):
            given = self.used_parameters.get(name)
            if not given:
                continue
            try:
                moment = datetime.fromisoformat(given)
                moment = timezone.make_aware(moment) if moment.tzinfo is None else moment
                moment.astimezone(timezone.get_default_timezone())
            except (ValueError, OverflowError):
                messages.error(request, "Decided: expected a time such as 2026-03-01T14:30.")
                return queryset.none()
            queryset = queryset.filter(**{lookup: moment})
        return queryset
