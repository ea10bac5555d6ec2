"""Forms of the verbs: pause, run now. Each value is held against the rules where it is used; these read the text."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import uuid4

from django import forms
from django.utils import timezone

from scheduler.models import NAME_LENGTH, REASON_LENGTH
from scheduler.states import PauseScope, ResumeRule
from tasks.json_values import StoredJSON

MOMENT = forms.DateTimeInput(attrs={"type": "datetime-local", "step": "1"})
MOMENT_FORMATS = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"]
MOST_PARAMS = 2_000_000
"""Characters that are read; how many bytes are stored is a setting."""

RULES = [
    (str(ResumeRule.DROP), "noted as paused, they do not run"),
    (str(ResumeRule.MISFIRE), "late slots: the misfire policy decides"),
]


class PauseForm(forms.Form):
    """Why, until when, and what becomes of the slots in between."""

    reason = forms.CharField(
        required=False, max_length=REASON_LENGTH, help_text="Shown to whoever asks why it does not run."
    )
    expires_at = forms.DateTimeField(
        required=False, label="Until", widget=MOMENT, input_formats=MOMENT_FORMATS
    )
    resume_rule = forms.ChoiceField(choices=RULES, label="Slots of the pause", initial=ResumeRule.DROP)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        zone = timezone.get_current_timezone_name()
        self.fields["expires_at"].help_text = f"In {zone}; empty: until somebody resumes it."


class ScopedPauseForm(PauseForm):
    """A pause of a tenant, or of everything."""

    scope = forms.ChoiceField(
        choices=[(str(PauseScope.TENANT), "A tenant"), (str(PauseScope.ALL), "Everything"),
                 (str(PauseScope.SCHEDULE), "A schedule")],
        label="What",
    )  # fmt: skip
    target = forms.CharField(
        required=False,
        max_length=NAME_LENGTH,
        label="Which",
        widget=forms.TextInput(attrs={"list": "known-names"}),
        help_text="The tenant or schedule; empty for everything.",
    )
    field_order = ("scope", "target", "reason", "expires_at", "resume_rule")


class RunForm(forms.Form):
    """``key`` names this wish: sent twice, it runs once."""

    key = forms.CharField(max_length=100, widget=forms.HiddenInput)
    params = forms.CharField(
        required=False,
        max_length=MOST_PARAMS,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"}),
        help_text="A JSON object, in place of the schedule's own params; empty: its own.",
    )
    force = forms.BooleanField(
        required=False,
        label="Force",
        help_text="An unfinished run of an exclusive job type does not stop it: it waits for its turn.",
    )

    def __init__(self, *args: Any, tenants: Iterable[str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["key"].initial = uuid4().hex
        if tenants is not None:
            add_tenant(self, tenants)

    def clean_params(self) -> dict[str, Any] | None:
        return read_params(self.cleaned_data["params"])


def add_tenant(form: forms.Form, tenants: Iterable[str]) -> None:
    """Ask for which tenant."""
    form.fields["tenant"] = forms.CharField(
        max_length=100, label="Tenant", widget=forms.TextInput(attrs={"list": "known-names"})
    )
    form.order_fields(["tenant"])
    form.known_names = list(tenants)


def read_params(text: str) -> dict[str, Any] | None:
    """A JSON object, None when nothing is written. Raises ValidationError that says what was read."""
    if not text.strip():
        return None
    try:
        value = StoredJSON.decode(text)
    except (ValueError, RecursionError) as error:
        raise forms.ValidationError(
            f'This is no JSON ({error}). Write an object, as {{"format": "pdf"}}.'
        ) from None
    if not isinstance(value, dict):
        raise forms.ValidationError(
            f'Expected a JSON object, as {{"format": "pdf"}}; this is {type(value).__name__}.'
        )
    return value


def local_text(value: datetime | None) -> str:
    """What a field of this moment holds, in the site's zone."""
    return "" if value is None else timezone.localtime(value).strftime("%Y-%m-%dT%H:%M:%S")
