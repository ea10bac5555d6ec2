"""Tokens of apps: who may use the bus, with which scopes, until when; made, shown once, revoked."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.debug import sensitive_variables

from jobsplatform.kernel import clock, tokens
from jobsplatform.kernel.errors import PlatformError
from jobsplatform.kernel.models import App, AppToken
from tasks.admin import shapes
from tasks.admin.base import RecordAdmin, actor_of, verb
from tasks.admin.job_page import Button
from tasks.cli.tokens.rows import condition

MAKE = "kernel.add_apptoken"
REVOKE = "kernel.revoke_token"
_TONES = {"good": "good", "expired": "warning", "revoked": "quiet", "app disabled": "warning"}


class TokenForm(forms.Form):
    """What a new token is for."""

    app = forms.ModelChoiceField(App.objects.none(), label="App", to_field_name="app_id", empty_label=None)
    name = forms.CharField(
        required=False, max_length=tokens.NAME_LENGTH, label="Name", help_text="What it is for, or where it is kept."
    )  # fmt: skip
    scopes = forms.MultipleChoiceField(
        choices=[(scope, f"{scope} – {what}") for scope, what in tokens.SCOPES.items()],
        widget=forms.CheckboxSelectMultiple, label="Scopes", error_messages={"required": "It needs at least one."},
    )  # fmt: skip
    expires_at = forms.DateTimeField(
        required=False, label="Expires", widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"],
    )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        apps: Any = self.fields["app"]
        apps.queryset = App.objects.order_by("app_id")
        apps.label_from_instance = lambda app: app.app_id if app.enabled else f"{app.app_id} (disabled)"
        self.fields["expires_at"].help_text = f"In {timezone.get_current_timezone_name()}; empty: never."

    def clean_expires_at(self) -> datetime | None:
        value: datetime | None = self.cleaned_data["expires_at"]
        if value is not None and value <= clock.now():
            raise forms.ValidationError("Expected a time that is still to come.")
        return value


@admin.register(AppToken)
class TokenAdmin(RecordAdmin):
    """Newest first. Of the secret nothing is stored that could be shown."""

    list_display = ("what", "owner", "status", "allowed", "expires", "used", "made")
    list_display_links = ("what",)
    list_select_related = ("app",)
    search_fields = ("name", "app__app_id")
    search_help_text = "A part of the name or of the app"
    ordering = ("-created_at", "-id")
    change_list_template = "tasks/admin/list.html"

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        own = [
            path("make/", wrap(self.make_view), name="kernel_apptoken_make"),
            path("<uuid:object_id>/revoke/", wrap(self.revoke_view), name="kernel_apptoken_revoke"),
        ]
        return own + super().get_urls()

    def get_queryset(self, request: HttpRequest) -> QuerySet[AppToken]:
        rows: QuerySet[AppToken] = super().get_queryset(request)
        return rows.select_related("app").defer("digest")

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        links = (
            [("Make a token …", reverse("admin:kernel_apptoken_make"))] if request.user.has_perm(MAKE) else []
        )
        return super().changelist_view(request, {"list_links": links, **(extra_context or {})})

    @admin.display(description="Token")
    def what(self, token: AppToken) -> str:
        return token.name or str(token.id)[-12:]

    @admin.display(description="App")
    def owner(self, token: AppToken) -> str:
        return token.app.app_id

    @admin.display(description="State")
    def status(self, token: AppToken) -> SafeString:
        word = condition(token, clock.now())
        return shapes.badge(word, _TONES[word])

    @admin.display(description="Scopes")
    def allowed(self, token: AppToken) -> str:
        return ", ".join(map(str, token.scopes))

    @admin.display(description="Expires")
    def expires(self, token: AppToken) -> SafeString | str:
        return "never" if token.expires_at is None else shapes.instant(token.expires_at)

    @admin.display(description="Last used")
    def used(self, token: AppToken) -> SafeString | str:
        return "never" if token.last_used_at is None else shapes.age(token.last_used_at, clock.now())

    @admin.display(description="Made")
    def made(self, token: AppToken) -> SafeString:
        return shapes.instant(token.created_at)

    def page_context(self, request: HttpRequest, record: AppToken) -> dict[str, Any]:
        revoke = Button(
            "Revoke", reverse("admin:kernel_apptoken_revoke", args=[record.pk]), "danger",
            "Revoke this token? It is refused everywhere within five seconds, for good.",
        )  # fmt: skip
        may = request.user.has_perm(REVOKE) and record.revoked_at is None
        return {
            "title": f"Token {record.name or record.id} of {record.app.app_id}",
            "facts": self.known(record),
            "buttons": [revoke] if may else [],
        }

    def known(self, token: AppToken) -> list[tuple[str, Any]]:
        """What may be shown of a token."""
        facts = [
            ("Id", token.id),
            ("App", token.app.app_id),
            ("Name", token.name),
            ("State", self.status(token)),
            ("Scopes", self.allowed(token)),
            ("Made", shapes.instant(token.created_at)),
            ("Made by", token.created_by),
            ("Expires", self.expires(token)),
            ("Last used", shapes.instant(token.last_used_at) if token.last_used_at else "never"),
            ("Last used from", token.last_used_ip),
            ("Revoked", shapes.instant(token.revoked_at) if token.revoked_at else ""),
            ("Revoked by", token.revoked_by),
        ]
        return [(name, value) for name, value in facts if value != ""]

    @sensitive_variables("secret", "context")
    def make_view(self, request: HttpRequest) -> HttpResponse:
        """The form; and, as the answer to it alone, the token. It is in no session, message or address."""
        if not request.user.has_perm(MAKE) or request.method not in {"GET", "HEAD", "POST"}:
            raise PermissionDenied
        form = TokenForm(request.POST if request.method == "POST" else None)
        back = reverse("admin:kernel_apptoken_changelist")
        context = {**self.admin_site.each_context(request), "opts": self.opts, "back": back}
        if request.method == "POST" and form.is_valid():
            data = form.cleaned_data
            try:
                token, secret = tokens.mint(
                    data["app"], name=data["name"], scopes=data["scopes"], expires_at=data["expires_at"],
                    actor=actor_of(request), now=clock.now(),
                )  # fmt: skip
            except PlatformError as error:
                form.add_error(None, error.message)
            else:
                context |= {"title": "Token made", "secret": secret, "facts": self.known(token)}
                response = TemplateResponse(request, "jobsplatform/token_made.html", context)
                response["Cache-Control"] = "no-store"
                return response
        context |= {"title": "Make a token", "form": form, "submit": "Make it"}
        return TemplateResponse(request, "tasks/admin/form.html", context)

    @verb(REVOKE)
    def revoke_view(self, request: HttpRequest, object_id: UUID) -> HttpResponse:
        """Refuse one token from now on."""
        if tokens.revoke(object_id, actor=actor_of(request), now=clock.now()):
            messages.success(request, "Revoked: it is refused everywhere within five seconds.")
        else:
            messages.warning(request, "Nothing done: there is no such token, or it had been revoked before.")
        return HttpResponseRedirect(reverse("admin:kernel_apptoken_changelist"))
