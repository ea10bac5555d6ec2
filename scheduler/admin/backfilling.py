"""The form that starts a backfill of a schedule, with a preview that stores nothing."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.errors import InvalidInput, PlatformError
from scheduler import backfill
from scheduler.admin import looks
from scheduler.admin.addresses import backfill_url
from scheduler.admin.forms import add_tenant
from scheduler.admin.schedule_page import tenant_of
from scheduler.admin.verbs import form_page, found, guard, tenants_of
from scheduler.models import Backfill, Schedule
from scheduler.timetables.errors import TimetableError
from scheduler.timetables.moments import moment
from tasks.admin.base import actor_of

SHOWN = 100
"""Slots that a preview lists one by one."""

MODES = [
    (Backfill.Mode.MISSING, "slots that did not fire"),
    (Backfill.Mode.FAILED, "slots whose job did not complete"),
    (Backfill.Mode.ALL, "every slot, also those that ran"),
]


class BackfillForm(forms.Form):
    """A range of slots. Times without an offset are those of the schedule's zone."""

    after = forms.CharField(max_length=64, label="After")
    until = forms.CharField(max_length=64, label="Until")
    mode = forms.ChoiceField(choices=MODES, label="Run", initial=Backfill.Mode.MISSING)
    concurrency = forms.IntegerField(
        label="At once", initial=1, min_value=1, max_value=backfill.MOST_AT_ONCE,
        help_text="Unfinished jobs of this backfill at one time.",
    )  # fmt: skip

    def __init__(self, row: Schedule, *args: Any, tenants: list[str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.zone = looks.zone_of(row.timezone).key
        example = f"In {self.zone}, as 2026-03-01T14:30, or with an offset."
        self.fields["after"].help_text = f"Slots later than this. {example}"
        self.fields["until"].help_text = f"Up to and with this; it has to have passed. {example}"
        for name in ("after", "until"):
            self.fields[name].widget.attrs["placeholder"] = "2026-03-01T14:30"
        if tenants is not None:
            add_tenant(self, tenants)

    def clean_after(self) -> datetime:
        return self._moment("after")

    def clean_until(self) -> datetime:
        return self._moment("until")

    def _moment(self, name: str) -> datetime:
        try:
            return moment(self.cleaned_data[name], self.zone, name)
        except TimetableError as error:
            raise forms.ValidationError(f"{error.message} {error.suggestion}") from None


class Backfilling:
    """Part of the schedule admin."""

    admin_site: admin.AdminSite

    def backfill_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The form; its preview; the start."""
        refused = guard(request, "scheduler.backfill_schedule")
        if refused is not None:
            return refused
        row = found(object_id)
        tenants = tenants_of(row)
        initial = {"tenant": tenant_of(row, request.GET.get("tenant", ""))}
        form = BackfillForm(
            row, request.POST if request.method == "POST" else None, initial=initial, tenants=tenants
        )
        shown: dict[str, Any] = {}
        if request.method == "POST" and form.is_valid():
            data = form.cleaned_data
            tenant = data.get("tenant", "")
            try:
                if "preview" in request.POST:
                    found_slots = backfill.preview(row.id, data["after"], data["until"], data["mode"], tenant)
                    shown = _preview(row, found_slots)
                else:
                    made = _start(row, data, tenant, actor_of(request))
                    messages.success(request, f"Begun: {made.total:,} slots are looked at, one by one.")
                    return HttpResponseRedirect(backfill_url(made.id))
            except PlatformError as error:
                _add_error(form, error)
        return form_page(
            request, self.admin_site, row, form=form, title=f"Backfill {row.id}", submit="Start", tone="primary",
            preview=True, shown=shown, names=tenants or [], template="scheduler/admin/backfill.html",
            about="Slots of the past are run (again), those that its present timetable names.",
        )  # fmt: skip


@transaction.atomic
def _start(row: Schedule, data: dict[str, Any], tenant: str, actor: Actor) -> Backfill:
    """Once, however often the button is pressed: an equal one that is running is refused. Raises InvalidInput."""
    Schedule.objects.select_for_update().filter(id=row.id).first()
    wanted = {"after": data["after"], "until": data["until"], "mode": data["mode"], "tenant_id": tenant}
    if Backfill.objects.filter(schedule_id=row.id, state=Backfill.State.RUNNING, **wanted).exists():
        raise InvalidInput("An equal backfill is running already: see its page, or cancel it first.")
    return backfill.start(row.id, **wanted, actor=actor, concurrency=data["concurrency"])


def _add_error(form: forms.Form, error: PlatformError) -> None:
    field, colon, rest = error.message.partition(": ")
    field = field.partition(",")[0]
    if colon and field in form.fields:
        form.add_error(field, rest)
    else:
        form.add_error(None, error.message)


def _preview(row: Schedule, found_slots: backfill.Preview) -> dict[str, Any]:
    zone = looks.zone_of(row.timezone)
    reasons = Counter((choice.run, choice.reason) for choice in found_slots.slots)
    return {
        "total": found_slots.total,
        "looked_at": len(found_slots.slots),
        "runs": found_slots.runs,
        "reasons": [(run, reason, count) for (run, reason), count in reasons.most_common(12)],
        "slots": [
            (looks.in_zone(choice.planned_at, zone), choice.run, choice.reason)
            for choice in found_slots.slots[:SHOWN]
        ],
        "more": found_slots.total > min(SHOWN, len(found_slots.slots)),
    }
