"""Job types that sidecars run: an operator approves where the platform calls, and switches handlers off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput, PlatformError
from tasks.admin import shapes
from tasks.admin.base import RecordAdmin, actor_of, refuse, verb
from tasks.admin.job_page import Button
from tasks.bus import bindings
from tasks.models import HandlerBinding

PERMISSION = "tasks.approve_binding"
HTTP = HandlerBinding.Transport.HTTP


@admin.register(HandlerBinding)
class BindingAdmin(RecordAdmin):
    """What is bound is the sidecar's to say; whether it counts is ours."""

    list_display = ("what", "status", "transport", "service", "method", "address", "changed")
    list_display_links = ("what",)
    list_filter = ("transport", "enabled")
    list_filter_submit = False
    search_fields = ("app_id", "job_type")
    search_help_text = "A part of the app or of the job type"
    ordering = ("app_id", "job_type")

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        own = [
            path("<uuid:object_id>/approve/", wrap(self.approve_view), name="tasks_handlerbinding_approve"),
            path("<uuid:object_id>/switch/", wrap(self.switch_view), name="tasks_handlerbinding_switch"),
        ]
        return own + super().get_urls()

    def get_queryset(self, request: HttpRequest) -> QuerySet[HandlerBinding]:
        rows: QuerySet[HandlerBinding] = super().get_queryset(request)
        found = request.resolver_match
        return rows if found and found.url_name == "tasks_handlerbinding_change" else rows.defer("spec")

    @admin.display(description="Job type")
    def what(self, binding: HandlerBinding) -> str:
        return str(binding)

    @admin.display(description="State")
    def status(self, binding: HandlerBinding) -> SafeString:
        if not binding.enabled:
            return shapes.badge("disabled", "warning", "Its jobs wait.")
        if binding.transport == HTTP and binding.url != binding.approved_url:
            return shapes.badge(
                "to be approved", "warning", "It is not called before its address is approved."
            )
        return shapes.badge("enabled", "good")

    @admin.display(description="Called at", empty_value=shapes.NOTHING)
    def address(self, binding: HandlerBinding) -> str | None:
        return binding.url or None

    @admin.display(description="Changed")
    def changed(self, binding: HandlerBinding) -> SafeString:
        return shapes.age(binding.updated_at, clock.now())

    def page_context(self, request: HttpRequest, record: HandlerBinding) -> dict[str, Any]:
        facts = [
            ("State", self.status(record)),
            ("App", record.app_id),
            ("Job type", record.job_type),
            ("Transport", record.get_transport_display()),
            ("Service", record.service),
            ("Method", record.method),
            ("Called at", record.url),
            ("Approved", record.approved_url),
            ("Approved by", record.approved_by),
            ("Approved at", shapes.instant(record.approved_at) if record.approved_at else ""),
            ("Bound", shapes.instant(record.created_at)),
            ("Changed", shapes.instant(record.updated_at)),
        ]
        return {
            "title": f"Handler of {record}",
            "facts": [(name, value) for name, value in facts if value != ""],
            "buttons": _buttons(record) if request.user.has_perm(PERMISSION) else [],
            "blocks": [("Declares", shapes.pretty(record.spec))] if record.spec else [],
        }

    @verb(PERMISSION)
    def approve_view(self, request: HttpRequest, object_id: UUID) -> HttpResponse:
        """Approve the address that the operator has read, and no other that has come since."""
        read = request.POST.get("url", "")

        def act(binding: HandlerBinding) -> str:
            if binding.url != read:
                raise InvalidInput(f"Nothing done: {binding} names another address by now. Look at it again.")
            bindings.approve(binding.pk, actor=actor_of(request), now=clock.now())
            return f"Approved: {binding} is called at {binding.url}."

        return _on_one(request, object_id, act)

    @verb(PERMISSION)
    def switch_view(self, request: HttpRequest, object_id: UUID) -> HttpResponse:
        """Enable or disable, as ``enabled`` says: so that a second press does not take back the first."""
        wanted = request.POST.get("enabled")

        def act(binding: HandlerBinding) -> str:
            if wanted not in {"0", "1"}:
                raise InvalidInput("enabled: expected 0 or 1.")
            word = "enabled" if wanted == "1" else "disabled"
            if binding.enabled == (wanted == "1"):
                return f"Nothing done: {binding} was {word} before."
            bindings.set_enabled(binding.pk, wanted == "1", actor=actor_of(request), now=clock.now())
            return f"{binding} is now {word}."

        return _on_one(request, object_id, act)


def _on_one(request: HttpRequest, object_id: UUID, act: Callable[[HandlerBinding], str]) -> HttpResponse:
    """Do it to the locked row, say what happened, and show it again (or the list, when it is gone)."""
    try:
        with transaction.atomic():
            binding = HandlerBinding.objects.select_for_update().filter(pk=object_id).first()
            if binding is None:
                messages.error(request, "Nothing done: the handler has been unregistered.")
                return HttpResponseRedirect(reverse("admin:tasks_handlerbinding_changelist"))
            told = act(binding)
        (messages.warning if told.startswith("Nothing") else messages.success)(request, told)
    except PlatformError as error:
        refuse(request, error)
    return HttpResponseRedirect(reverse("admin:tasks_handlerbinding_change", args=[object_id]))


def _buttons(binding: HandlerBinding) -> list[Button]:
    def url(name: str) -> str:
        return reverse(f"admin:tasks_handlerbinding_{name}", args=[binding.pk])

    found = []
    if binding.url and binding.url != binding.approved_url:
        ask = f"Let the platform send jobs to {binding.url}?"
        found.append(Button("Approve the address", url("approve"), "primary", ask, (("url", binding.url),)))
    if binding.enabled:
        ask = f"Disable {binding}? Its jobs wait until it is enabled again."
        found.append(Button("Disable", url("switch"), "danger", ask, (("enabled", "0"),)))
    else:
        found.append(Button("Enable", url("switch"), "primary", "", (("enabled", "1"),)))
    return found
