"""Suspensions: the list, the form that makes one, and the button that lifts one."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import PlatformError, UnknownName
from tasks import control
from tasks.admin import known, shapes
from tasks.admin.base import RecordAdmin, actor_of, refuse, verb
from tasks.admin.job_page import Button
from tasks.cli import names
from tasks.models import Suspension

PERMISSION = "tasks.suspend"


class SuspendForm(forms.Form):
    """What is to be stopped. Names are held against those that exist."""

    scope = forms.ChoiceField(choices=Suspension.Scope.choices, label="What")
    target = forms.CharField(
        required=False,
        max_length=301,
        label="Which",
        widget=forms.TextInput(attrs={"list": "known-names"}),
        help_text="The app, job type (app:type) or queue; empty for all.",
    )
    reason = forms.CharField(
        required=False, max_length=500, help_text="Shown to whoever asks why a job does not run."
    )
    expires_at = forms.DateTimeField(
        required=False, label="Until", widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"],
    )  # fmt: skip
    interrupt = forms.BooleanField(
        required=False,
        label="Interrupt running jobs",
        help_text="They go back to pending with their checkpoint.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        zone = timezone.get_current_timezone_name()
        self.fields["expires_at"].help_text = f"In {zone}; empty: until somebody lifts it."

    def clean_expires_at(self) -> datetime | None:
        value: datetime | None = self.cleaned_data["expires_at"]
        if value is not None and value <= clock.now():
            raise forms.ValidationError("Expected a time that is still to come.")
        return value

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        scope, target = data.get("scope"), (data.get("target") or "").strip()
        if scope is None or "target" not in data:
            return data
        if scope == Suspension.Scope.ALL:
            if target:
                self.add_error("target", "Leave it empty: everything is suspended.")
            return data
        if not target:
            self.add_error("target", f"Name the {_WORDS[scope]} to suspend.")
            return data
        try:
            data["target"] = _known(scope, target)
        except PlatformError as error:
            self.add_error("target", error.message)
        return data


_WORDS = {Suspension.Scope.APP: "app", Suspension.Scope.TYPE: "job type", Suspension.Scope.QUEUE: "queue"}


def _handler_keys() -> set[str]:
    """Keys with a handler here or in a live process, or with a job."""
    return {*known.handler_keys(), *names.handler_keys(clock.now())}


def _known(scope: str, target: str) -> str:
    """The target as it is stored. Raises UnknownName with the nearest."""
    now = clock.now()
    if scope == Suspension.Scope.TYPE:
        keys = _handler_keys()
        key = target if ":" in target else f":{target}"
        if key not in keys:
            raise UnknownName("job type", target, [known_key.lstrip(":") for known_key in keys])
        return key
    return names.app(target, now) if scope == Suspension.Scope.APP else names.queue(target, now)


def in_force(suspension: Suspension) -> bool:
    """Neither lifted nor expired."""
    expired = suspension.expires_at is not None and suspension.expires_at <= clock.now()
    return suspension.lifted_at is None and not expired


class OpenFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "open"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("1", "in force"), ("0", "over")]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        if self.value() not in {"0", "1"}:
            return queryset
        ended = queryset.filter(lifted_at__isnull=False) | queryset.filter(expires_at__lte=clock.now())
        return ended if self.value() == "0" else queryset.exclude(pk__in=ended.values("pk"))


@admin.register(Suspension)
class SuspensionAdmin(RecordAdmin):
    """What is stopped, by whom and until when."""

    list_display = ("what", "status", "reason", "author", "since", "until", "interrupts")
    list_display_links = ("what",)
    list_filter = (OpenFilter,)
    list_filter_submit = False
    change_list_template = "tasks/admin/suspensions.html"

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        own = [
            path("suspend/", wrap(self.suspend_view), name="tasks_suspension_suspend"),
            path("<int:object_id>/lift/", wrap(self.lift_view), name="tasks_suspension_lift"),
        ]
        return own + super().get_urls()

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        may = request.user.has_perm(PERMISSION)
        return super().changelist_view(request, {"may_suspend": may, **(extra_context or {})})

    @admin.display(description="What")
    def what(self, suspension: Suspension) -> str:
        target = suspension.target.lstrip(":")
        return f"{suspension.get_scope_display().lower()} {target}".strip()

    @admin.display(description="State")
    def status(self, suspension: Suspension) -> SafeString:
        if in_force(suspension):
            return shapes.badge("in force", "warning")
        return shapes.badge("lifted" if suspension.lifted_at is not None else "expired")

    @admin.display(description="Since")
    def since(self, suspension: Suspension) -> SafeString:
        return shapes.instant(suspension.created_at)

    @admin.display(description="Until")
    def until(self, suspension: Suspension) -> SafeString:
        return shapes.instant(suspension.lifted_at or suspension.expires_at)

    @admin.display(description="Running jobs")
    def interrupts(self, suspension: Suspension) -> str:
        return "interrupted" if suspension.interrupt else "go on"

    def page_context(self, request: HttpRequest, record: Suspension) -> dict[str, Any]:
        facts = [
            ("State", self.status(record)),
            ("Reason", record.reason),
            ("By", record.author),
            ("Since", shapes.instant(record.created_at)),
            ("Expires", shapes.instant(record.expires_at)),
            ("Lifted", shapes.instant(record.lifted_at)),
            ("Lifted by", record.lifted_by),
            ("Interrupted running jobs", "yes" if record.interrupt else "no"),
        ]
        may = request.user.has_perm(PERMISSION)
        lift = Button("Lift", reverse("admin:tasks_suspension_lift", args=[record.pk]), "primary")
        return {
            "title": f"Suspension of {self.what(record)}",
            "facts": [(name, value) for name, value in facts if value != ""],
            "buttons": [lift] if may and in_force(record) else [],
        }

    def suspend_view(self, request: HttpRequest) -> HttpResponse:
        """The form, and what it makes."""
        if not request.user.has_perm(PERMISSION):
            raise PermissionDenied
        if request.method not in {"GET", "HEAD", "POST"}:
            return HttpResponseNotAllowed(["GET", "POST"])
        form = SuspendForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            data = form.cleaned_data
            try:
                made = control.suspend(
                    data["scope"], data["target"], actor=actor_of(request), reason=data["reason"],
                    expires_at=data["expires_at"], interrupt=data["interrupt"],
                )  # fmt: skip
            except PlatformError as error:
                form.add_error(None, error.message)
            else:
                messages.success(request, f"Suspended: {self.what(made)}.")
                return HttpResponseRedirect(reverse("admin:tasks_suspension_changelist"))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Suspend",
            "form": form,
            "names": sorted({*(key.lstrip(":") for key in _handler_keys()), *names.queues(clock.now())}),
        }
        return TemplateResponse(request, "tasks/admin/suspend.html", context)

    @verb(PERMISSION)
    def lift_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Lift one suspension; starts are let go a few at a time."""
        back = HttpResponseRedirect(reverse("admin:tasks_suspension_changelist"))
        found = Suspension.objects.filter(pk=object_id).first()
        if found is None or found.lifted_at is not None:
            messages.warning(request, "Nothing done: it is not in force any more.")
            return back
        try:
            control.unsuspend(found.scope, found.target, actor=actor_of(request))
            messages.success(request, f"Lifted: {self.what(found)}. Its jobs start again, a few at a time.")
        except PlatformError as error:
            refuse(request, error)
        return back
