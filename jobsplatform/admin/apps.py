"""Apps that own jobs besides the host: whether they may work, how much, and who of them is there."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobsplatform.admin.processes import busy_slots
from jobsplatform.kernel import app_rows, clock, quotas
from jobsplatform.kernel.errors import PlatformError
from jobsplatform.kernel.models import App, Process
from tasks.admin import shapes
from tasks.admin.base import RecordAdmin, actor_of, refuse, verb
from tasks.admin.job_page import Button
from tasks.models import HandlerBinding

ADD, CHANGE = "kernel.add_app", "kernel.change_app"
SHOWN = 50
_UNITS = {
    "creates_per_minute": "Jobs made a minute",
    "events_per_minute": "Events told a minute",
    "payload_bytes": "Bytes of a request",
}


class AppForm(forms.Form):
    """A title, and the quotas that differ from the settings."""

    title = forms.CharField(required=False, max_length=200)
    creates_per_minute = forms.IntegerField(required=False, min_value=1, max_value=10**9)
    events_per_minute = forms.IntegerField(required=False, min_value=1, max_value=10**9)
    payload_bytes = forms.IntegerField(required=False, min_value=1, max_value=10**9)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        usual = quotas.Quotas.of({})
        for name, label in _UNITS.items():
            self.fields[name].label = label
            self.fields[name].help_text = f"Empty: as the settings say, {getattr(usual, name):,}."

    def own_quotas(self) -> dict[str, int]:
        """Those that were given."""
        return {name: self.cleaned_data[name] for name in quotas.NAMES if self.cleaned_data[name] is not None}


class NewAppForm(AppForm):
    """The same, with the id that it will have for good."""

    app_id = forms.CharField(
        max_length=100, label="Id", help_text="Part of its job types, and never changed."
    )
    field_order = ("app_id",)

    def clean_app_id(self) -> str:
        try:
            app_id = app_rows.read_app_id(self.cleaned_data["app_id"])
        except PlatformError as error:
            raise forms.ValidationError(error.message) from None
        if App.objects.filter(app_id__iexact=app_id).exists():
            raise forms.ValidationError("There is an app of this id already.")
        return app_id


@admin.register(App)
class AppAdmin(RecordAdmin):
    """Who they are, whether they may work, and when they were last seen."""

    list_display = ("app_id", "title", "status", "seen")
    list_display_links = ("app_id",)
    search_fields = ("app_id", "title")
    ordering = ("app_id",)
    change_list_template = "tasks/admin/list.html"

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        own = [
            path("new/", wrap(self.new_view), name="kernel_app_new"),
            path("<int:object_id>/edit/", wrap(self.edit_view), name="kernel_app_edit"),
            path("<int:object_id>/switch/", wrap(self.switch_view), name="kernel_app_switch"),
        ]
        return own + super().get_urls()

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        links = [("New app …", reverse("admin:kernel_app_new"))] if request.user.has_perm(ADD) else []
        return super().changelist_view(request, {"list_links": links, **(extra_context or {})})

    @admin.display(description="State")
    def status(self, app: App) -> SafeString:
        return shapes.badge("enabled", "good") if app.enabled else shapes.badge("disabled", "warning")

    @admin.display(description="Last seen")
    def seen(self, app: App) -> SafeString:
        return shapes.age(app.last_seen, clock.now())

    def page_context(self, request: HttpRequest, record: App) -> dict[str, Any]:
        own = quotas.Quotas.of(record.quotas)
        limits = [
            (label, f"{getattr(own, name):,}{'' if name in record.quotas else ' (from the settings)'}")
            for name, label in _UNITS.items()
        ]
        may = request.user.has_perm(CHANGE)
        lists = []
        if request.user.has_perm("kernel.view_process"):
            lists.append(("Sidecars", _sidecars(record.app_id)))
        if request.user.has_perm("tasks.view_handlerbinding"):
            lists.append(("Handlers", _handlers(record.app_id)))
        return {
            "title": f"App {record.app_id}",
            "facts": [
                ("App", record.app_id),
                ("Title", record.title),
                ("State", self.status(record)),
                ("Last seen", shapes.instant(record.last_seen)),
                ("Services", ", ".join(map(str, record.services)) or shapes.NOTHING),
                *limits,
            ],
            "links": [("Edit …", reverse("admin:kernel_app_edit", args=[record.pk]))] if may else [],
            "buttons": [_switch(record)] if may else [],
            "lists": lists,
        }

    def new_view(self, request: HttpRequest) -> HttpResponse:
        """Make an app; its tokens are made after it."""
        if not request.user.has_perm(ADD) or request.method not in {"GET", "HEAD", "POST"}:
            raise PermissionDenied
        form = NewAppForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            app, _ = app_rows.ensure(form.cleaned_data["app_id"], actor=actor_of(request))
            if self._described(request, app, form):
                messages.success(request, f"Made: app {app.app_id}. It needs a token to use the bus.")
                return _page(app)
        return self._form(request, form, "New app", "Make it", reverse("admin:kernel_app_changelist"))

    def edit_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Change an app's title and quotas."""
        if not request.user.has_perm(CHANGE) or request.method not in {"GET", "HEAD", "POST"}:
            raise PermissionDenied
        app = App.objects.filter(pk=object_id).first()
        if app is None:
            return _no_such(request)
        stored = {"title": app.title, **{name: app.quotas.get(name) for name in quotas.NAMES}}
        form = AppForm(request.POST if request.method == "POST" else None, initial=stored)
        if request.method == "POST" and form.is_valid() and self._described(request, app, form):
            messages.success(request, f"Saved: app {app.app_id}.")
            return _page(app)
        back = reverse("admin:kernel_app_change", args=[app.pk])
        return self._form(request, form, f"Edit app {app.app_id}", "Save", back)

    def _described(self, request: HttpRequest, app: App, form: AppForm) -> bool:
        try:
            app_rows.describe(
                app.app_id, title=form.cleaned_data["title"], own_quotas=form.own_quotas(), actor=actor_of(request)
            )  # fmt: skip
        except PlatformError as error:
            form.add_error(None, error.message)
            return False
        return True

    def _form(
        self, request: HttpRequest, form: forms.Form, title: str, submit: str, back: str
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts, "title": title, "form": form, "submit": submit, "back": back,
        }  # fmt: skip
        return TemplateResponse(request, "tasks/admin/form.html", context)

    @verb(CHANGE)
    def switch_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Enable or disable an app, as ``enabled`` says: so that a second press does not take back the first."""
        app, wanted = App.objects.filter(pk=object_id).first(), request.POST.get("enabled")
        if app is None or wanted not in {"0", "1"}:
            return _no_such(request)
        try:
            changed = app_rows.set_enabled(app.app_id, wanted == "1", actor=actor_of(request))
        except PlatformError as error:
            refuse(request, error)
            return _page(app)
        word = "enabled" if wanted == "1" else "disabled"
        if changed:
            messages.success(request, f"App {app.app_id} is now {word}.")
        else:
            messages.warning(request, f"Nothing done: app {app.app_id} was {word} before.")
        return _page(app)


def _page(app: App) -> HttpResponse:
    return HttpResponseRedirect(reverse("admin:kernel_app_change", args=[app.pk]))


def _no_such(request: HttpRequest) -> HttpResponse:
    messages.error(request, "Nothing done: there is no such app.")
    return HttpResponseRedirect(reverse("admin:kernel_app_changelist"))


def _switch(app: App) -> Button:
    url = reverse("admin:kernel_app_switch", args=[app.pk])
    if not app.enabled:
        return Button("Enable", url, "primary", "", (("enabled", "1"),))
    ask = f"Disable app {app.app_id}? The bus refuses all of its tokens."
    return Button("Disable", url, "danger", ask, (("enabled", "0"),))


def _sidecars(app_id: str) -> list[tuple[Any, ...]]:
    rows = Process.objects.filter(role=Process.Role.SIDECAR, app_id=app_id, stopped_at=None, lost_at=None)
    found = list(rows.defer("handlers").order_by("-heartbeat_at")[:SHOWN])
    busy, now = busy_slots([row.pk for row in found]), clock.now()
    return [
        (
            format_html(
                '<a class="jp-link" href="{}">{}</a>', reverse("admin:kernel_process_change", args=[row.pk]), row.name
            ),
            shapes.badge("draining", "warning") if row.stopping else "",
            f"{busy.get(row.pk, 0)} of {row.concurrency} busy" if row.concurrency else f"{busy.get(row.pk, 0)} busy",
            format_html("heard of {} ago", shapes.age(row.heartbeat_at, now)),
        )
        for row in found
    ]  # fmt: skip


def _handlers(app_id: str) -> list[tuple[Any, ...]]:
    rows = HandlerBinding.objects.filter(app_id=app_id).defer("spec").order_by("job_type")[:SHOWN]
    return [
        (
            format_html(
                '<a class="jp-link" href="{}">{}</a>',
                reverse("admin:tasks_handlerbinding_change", args=[row.pk]),
                row.job_type,
            ),
            row.transport,
            "" if row.enabled else shapes.badge("disabled", "warning"),
        )
        for row in rows
    ]
