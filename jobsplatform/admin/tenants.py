"""Tenants, and their change of state."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from jobsplatform.kernel.errors import PlatformError
from jobsplatform.kernel.models import Tenant
from tasks import control
from tasks.admin import shapes
from tasks.admin.base import RecordAdmin, actor_of, refuse, verb
from tasks.admin.job_page import Button

PERMISSION = "kernel.change_tenant"
_TONES = {Tenant.State.ACTIVE: "good", Tenant.State.SUSPENDED: "warning", Tenant.State.ARCHIVED: "quiet"}
_VERBS = {
    Tenant.State.ACTIVE: "Activate",
    Tenant.State.SUSPENDED: "Suspend",
    Tenant.State.ARCHIVED: "Archive",
}


@admin.register(Tenant)
class TenantAdmin(RecordAdmin):
    """A suspended tenant's jobs wait; an archived one's are refused."""

    list_display = ("tenant_id", "title", "status")
    list_display_links = ("tenant_id",)
    list_filter = ("state",)
    list_filter_submit = False
    search_fields = ("tenant_id", "title")
    ordering = ("tenant_id",)

    def get_urls(self) -> list[URLPattern]:
        # Before Django's own, whose pattern for a page takes any path.
        view = self.admin_site.admin_view(self.state_view)
        return [path("<path:object_id>/state/", view, name="kernel_tenant_state"), *super().get_urls()]

    @admin.display(description="State")
    def status(self, tenant: Tenant) -> SafeString:
        return shapes.badge(tenant.state, _TONES.get(Tenant.State(tenant.state), "quiet"))

    def page_context(self, request: HttpRequest, record: Tenant) -> dict[str, Any]:
        url = reverse("admin:kernel_tenant_state", args=[record.pk])
        buttons = [
            Button(label, url, "primary" if state == Tenant.State.ACTIVE else "danger",
                   f"{label} tenant {record.tenant_id}?", (("state", state),))
            for state, label in _VERBS.items()
            if state != record.state
        ]  # fmt: skip
        may = request.user.has_perm(PERMISSION)
        return {
            "title": f"Tenant {record.tenant_id}",
            "facts": [("Tenant", record.tenant_id), ("Title", record.title), ("State", self.status(record))],
            "buttons": buttons if may else [],
        }

    @verb(PERMISSION)
    def state_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Change a tenant's state."""
        if not Tenant.objects.filter(pk=object_id).exists():
            messages.error(request, f"No tenant {object_id!r}.")
            return HttpResponseRedirect(reverse("admin:kernel_tenant_changelist"))
        try:
            control.set_tenant_state(object_id, request.POST.get("state", ""), actor=actor_of(request))
            messages.success(request, f"Tenant {object_id} is now {request.POST.get('state')}.")
        except PlatformError as error:
            refuse(request, error)
        return HttpResponseRedirect(reverse("admin:kernel_tenant_changelist"))
