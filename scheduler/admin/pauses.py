"""Pauses: the list, the form that pauses a tenant or everything, and the button that lifts one."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import DropdownFilter

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import PlatformError
from jobsplatform.kernel.models import Tenant
from scheduler import control
from scheduler.admin.addresses import list_url, schedule_link
from scheduler.admin.forms import ScopedPauseForm
from scheduler.admin.verbs import add_pause_error, guard
from scheduler.models import Pause
from scheduler.states import PauseScope
from tasks.admin import shapes
from tasks.admin.base import RecordAdmin, actor_of, refuse
from tasks.admin.job_page import Button

OFFERED = 500
PERMISSIONS = {
    PauseScope.SCHEDULE: "scheduler.pause_schedule",
    PauseScope.TENANT: "scheduler.pause_all_schedules",
    PauseScope.ALL: "scheduler.pause_all_schedules",
}


def in_force(pause: Pause) -> bool:
    """Neither lifted nor over."""
    over = pause.expires_at is not None and pause.expires_at <= clock.now()
    return pause.lifted_at is None and not over


class OpenFilter(DropdownFilter):
    title = "state"
    parameter_name = "open"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("1", "in force"), ("0", "over")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Pause]) -> QuerySet[Pause]:
        over = Q(lifted_at__isnull=False) | Q(expires_at__lte=clock.now())
        if self.value() == "0":
            return queryset.filter(over)
        if self.value() != "1":
            return queryset
        unexpired = Q(expires_at__isnull=True) | Q(expires_at__gt=clock.now())
        return queryset.filter(unexpired, lifted_at__isnull=True)


class ScopeFilter(DropdownFilter):
    title = "what"
    parameter_name = "scope"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("all", "everything"), ("tenant", "tenants"), ("schedule", "schedules")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Pause]) -> QuerySet[Pause]:
        return queryset.filter(scope=self.value()) if self.value() in list(PauseScope) else queryset


@admin.register(Pause)
class PauseAdmin(RecordAdmin):
    """What lies still, by whom and until when."""

    list_display = ("what", "status", "reason", "author", "since", "until", "rule")
    list_display_links = ("what",)
    list_filter = (OpenFilter, ScopeFilter)
    search_fields = ("target",)
    search_help_text = "Schedule or tenant: the whole id"
    change_list_template = "scheduler/admin/pauses.html"

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        own = [
            path("pause/", wrap(self.pause_view), name="scheduler_pause_pause"),
            path("<int:object_id>/lift/", wrap(self.lift_view), name="scheduler_pause_lift"),
        ]
        return own + super().get_urls()

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        may = request.user.has_perm(PERMISSIONS[PauseScope.ALL])
        return super().changelist_view(request, {"may_pause": may, **(extra_context or {})})

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Pause], search_term: str
    ) -> tuple[QuerySet[Pause], bool]:
        """Whole ids."""
        term = search_term.strip()
        if not term:
            return queryset, False
        return (queryset.none() if "\x00" in term else queryset.filter(target=term)), False

    @admin.display(description="What")
    def what(self, pause: Pause) -> str:
        return "everything" if pause.scope == PauseScope.ALL else f"{pause.scope} {pause.target}"

    @admin.display(description="State")
    def status(self, pause: Pause) -> SafeString:
        if in_force(pause):
            return shapes.badge("in force", "warning")
        return shapes.badge("lifted" if pause.lifted_by not in ("", "expiry") else "expired")

    @admin.display(description="Since")
    def since(self, pause: Pause) -> SafeString:
        return shapes.instant(pause.created_at)

    @admin.display(description="Until")
    def until(self, pause: Pause) -> SafeString:
        return shapes.instant(pause.lifted_at or pause.expires_at)

    @admin.display(description="Its slots")
    def rule(self, pause: Pause) -> str:
        return "do not run" if pause.resume_rule == "drop" else "count as late"

    def page_context(self, request: HttpRequest, record: Pause) -> dict[str, Any]:
        linked = record.scope == PauseScope.SCHEDULE
        facts = [
            ("What", schedule_link(record.target) if linked else self.what(record)),
            ("State", self.status(record)),
            ("Reason", record.reason),
            ("By", f"{record.author}{', by itself' if record.automatic else ''}"),
            ("Since", shapes.instant(record.created_at)),
            ("Expires", shapes.instant(record.expires_at)),
            ("Lifted", shapes.instant(record.lifted_at)),
            ("Lifted by", record.lifted_by),
            ("Its slots", self.rule(record)),
        ]
        may = request.user.has_perm(PERMISSIONS[PauseScope(record.scope)])
        lift = Button("Resume", reverse("admin:scheduler_pause_lift", args=[record.pk]), "primary")
        return {
            "title": f"Pause of {self.what(record)}",
            "facts": [(name, value) for name, value in facts if value != ""],
            "buttons": [lift] if may and in_force(record) else [],
        }

    def pause_view(self, request: HttpRequest) -> HttpResponse:
        """The form, and the pause that it makes."""
        refused = guard(request, PERMISSIONS[PauseScope.ALL])
        if refused is not None:
            return refused
        form = ScopedPauseForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            data = form.cleaned_data
            if not request.user.has_perm(PERMISSIONS[PauseScope(data["scope"])]):
                raise PermissionDenied
            try:
                made = control.pause(
                    data["scope"], data["target"].strip(), actor=actor_of(request), reason=data["reason"],
                    expires_at=data["expires_at"], resume_rule=data["resume_rule"],
                )  # fmt: skip
            except PlatformError as error:
                add_pause_error(form, error)
            else:
                messages.success(request, f"Paused: {self.what(made)}.")
                return HttpResponseRedirect(list_url("pause"))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Pause",
            "about": "No slot of it fires until it is resumed. Jobs that were made already go on.",
            "form": form,
            "names": list(Tenant.objects.order_by("tenant_id").values_list("tenant_id", flat=True)[:OFFERED]),
            "submit": "Pause",
            "tone": "danger",
            "back": list_url("pause"),
        }
        return TemplateResponse(request, "scheduler/admin/form.html", context)

    def lift_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Lift one pause, with the permission that making it takes."""
        found = Pause.objects.filter(pk=object_id).first()
        scope = PauseScope(found.scope) if found is not None else PauseScope.ALL
        if not request.user.has_perm(PERMISSIONS[scope]):
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        back = HttpResponseRedirect(list_url("pause"))
        if found is None or found.lifted_at is not None:
            messages.warning(request, "Nothing done: it is not in force any more.")
            return back
        try:
            control.resume(found.scope, found.target, actor=actor_of(request))
            messages.success(request, f"Resumed: {self.what(found)}.")
        except PlatformError as error:
            refuse(request, error)
        return back
