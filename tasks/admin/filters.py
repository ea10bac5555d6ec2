"""Filters of the job list. Each is answered by an index, or walks the newest jobs first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.contrib.filters.admin import CheckboxFilter, DropdownFilter, TextFilter

from tasks.admin import known
from tasks.models import Job
from tasks.states import Priority, State

HOST = "(host)"


class StateFilter(CheckboxFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state, state) for state in State]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        wanted = [value for value in self.value() or [] if value]
        return queryset.filter(state__in=wanted) if wanted else queryset


class TypeFilter(DropdownFilter):
    title = "job type"
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(key, key.lstrip(":")) for key in known.handler_keys()]

    def has_output(self) -> bool:
        return True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        return queryset.filter(handler_key=self.value()) if self.value() else queryset


class AppFilter(DropdownFilter):
    title = "app"
    parameter_name = "app"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(app_id or HOST, app_id or HOST) for app_id in known.apps()]

    def has_output(self) -> bool:
        return True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        if not self.value():
            return queryset
        app_id = "" if self.value() == HOST else self.value()
        # By handler key: that one has an index, and an app has few.
        keys = [key for key in known.handler_keys() if key.partition(":")[0] == app_id]
        return queryset.filter(handler_key__in=keys)


class QueueFilter(DropdownFilter):
    title = "queue"
    parameter_name = "queue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(queue, queue) for queue in known.queues()]

    def has_output(self) -> bool:
        return True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        return queryset.filter(queue=self.value()) if self.value() else queryset


class PriorityFilter(DropdownFilter):
    title = "priority"
    parameter_name = "priority"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(step.name.lower(), step.name.replace("_", " ").lower()) for step in Priority]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        steps = {step.name.lower(): int(step) for step in Priority}
        low = steps.get(self.value() or "")
        if low is None:
            return queryset
        higher = [step for step in steps.values() if step > low]
        rows = queryset.filter(priority__lt=min(higher)) if higher else queryset
        # Below the lowest step there may be negative numbers; they belong to it.
        return rows if low == min(steps.values()) else rows.filter(priority__gte=low)


class TenantFilter(TextFilter):
    title = "tenant"
    parameter_name = "tenant"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        return queryset.filter(tenant_id=self.value()) if self.value() else queryset


class ParentFilter(TextFilter):
    """Reached by a link from a parent's page."""

    title = "parent job"
    parameter_name = "parent"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        if not self.value():
            return queryset
        try:
            return queryset.filter(parent=UUID(self.value()))
        except ValueError:
            messages.error(request, "Parent job: expected the id of a job.")
            return queryset.none()


class SpanFilter(admin.SimpleListFilter):
    """From and to, in the site's time zone. Subclasses name the two parameters and the lookups that answer them."""

    other_parameter = ""
    bounds = ("", "")
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
        for name, label in zip(self.expected_parameters(), ("from", "to"), strict=True):
            yield {
                "name": name,
                "label": f"{self.title.capitalize()} {label} ({zone})",
                "value": self.used_parameters.get(name, ""),
            }

    def value_at(self, moment: datetime) -> Any:
        """What the lookups compare with. Raises ValueError or OverflowError for a time that cannot be."""
        moment.astimezone(timezone.get_default_timezone())
        return moment

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        for name, lookup in zip(self.expected_parameters(), self.bounds, strict=True):
            given = self.used_parameters.get(name)
            if not given:
                continue
            try:
                moment = datetime.fromisoformat(given)
                moment = timezone.make_aware(moment) if moment.tzinfo is None else moment
                queryset = queryset.filter(**{lookup: self.value_at(moment)})
            except (ValueError, OverflowError):
                messages.error(
                    request, f"{self.title.capitalize()}: expected a time such as 2026-03-01T14:30."
                )
                return queryset.none()
        return queryset


class CreatedFilter(SpanFilter):
    """Asks the primary key, which begins with the time of creation."""

    title = "created"
    parameter_name = "created_from"
    other_parameter = "created_to"
    bounds = ("id__gte", "id__lt")

    def value_at(self, moment: datetime) -> UUID:
        return first_id_at(moment)


def first_id_at(moment: datetime) -> UUID:
    """The smallest id that can have been made at ``moment`` or later (RFC 9562: 48 bits of milliseconds first).

    Raises ValueError before 1970.
    """
    millis = int(moment.timestamp() * 1000)
    if millis < 0:
        raise ValueError("before 1970")
    return UUID(int=millis << 80)
