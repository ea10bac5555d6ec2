"""Making and editing a schedule: the form, its preview, and the save through ``scheduler.control``."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.html import format_html

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import PlatformError
from scheduler import control, definition, impact
from scheduler.admin import looks
from scheduler.admin.addresses import list_url, schedule_link, schedule_url, verb_url
from scheduler.admin.schedule_form import ScheduleForm, initial_of
from scheduler.admin.schedule_page import change_sentence
from scheduler.admin.verbs import found, guard
from scheduler.errors import ScheduleConflict, ScheduleExists, ScheduleInvalid
from scheduler.models import Schedule
from scheduler.spec import ScheduleSpec
from scheduler.timetables.zones import known as known_zones
from tasks import registry
from tasks.admin.base import actor_of

NEXT = 10
MOVED = 10
"""Slots that come or go, listed one by one."""


class Editing:
    """Part of the schedule admin."""

    admin_site: admin.AdminSite

    def has_add_permission(self, request: HttpRequest) -> bool:
        """By its own permission: the form is ours."""
        return bool(request.user.has_perm("scheduler.add_schedule"))

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """A new schedule."""
        refused = guard(request, "scheduler.add_schedule")
        if refused is not None:
            return refused
        if request.method != "POST":
            return self._form(request, ScheduleForm(), None)
        return self._posted(request, ScheduleForm(request.POST), None)

    def edit_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The same, of one that there is."""
        refused = guard(request, "scheduler.change_schedule")
        if refused is not None:
            return refused
        row = found(object_id)
        may_see = request.user.has_perm("tasks.view_payload")
        if row.source == Schedule.Source.CODE or row.archived_at is not None:
            why = (
                "It is archived: restore it first."
                if row.archived_at is not None
                else f"It is declared in {row.module or 'code'}: change it there. It can be paused, run, skipped."
            )
            if request.method != "POST":
                messages.warning(request, why)
            else:
                messages.error(request, f"Nothing was stored. {why}")
            return HttpResponseRedirect(schedule_url(row.id))
        initial = initial_of(row)
        if request.method != "POST":
            return self._form(request, ScheduleForm(initial=initial, standing=row, may_see=may_see), row)
        form = ScheduleForm(request.POST, initial=initial, standing=row, may_see=may_see)
        return self._posted(request, form, row)

    def _posted(self, request: HttpRequest, form: ScheduleForm, row: Schedule | None) -> HttpResponse:
        if not form.is_valid():
            return self._form(request, form, row)
        spec = form.spec()
        kind = str(form.cleaned_data.get("kind") or "cron")
        if "preview" in request.POST:
            try:
                return self._form(request, form, row, _preview(spec, row))
            except ScheduleInvalid as error:
                form.tell(error.faults, kind)
            return self._form(request, form, row)
        try:
            return self._save(request, form, spec, row)
        except ScheduleInvalid as error:
            form.tell(error.faults, kind)
        except ScheduleConflict:
            return self._conflict(request, form, spec)
        except ScheduleExists as error:
            form.add_error("id", error.message)
        except PlatformError as error:
            form.add_error(None, error.message)
        return self._form(request, form, row)

    def _save(
        self, request: HttpRequest, form: ScheduleForm, spec: ScheduleSpec, row: Schedule | None
    ) -> HttpResponse:
        actor = actor_of(request)
        if row is None:
            stored = control.create(spec, actor=actor)
            messages.success(request, format_html("Made: {}.", schedule_link(stored.id)))
            return HttpResponseRedirect(schedule_url(stored.id))
        # A form without its revision is one that nobody has seen.
        revision = form.cleaned_data.get("revision")
        stored = control.update(row.id, spec, revision=-1 if revision is None else revision, actor=actor)
        same = stored.revision == revision
        messages.success(request, "Nothing to change: it says this already." if same else "Saved.")
        return HttpResponseRedirect(schedule_url(stored.id))

    def _conflict(self, request: HttpRequest, form: ScheduleForm, spec: ScheduleSpec) -> HttpResponse:
        """Somebody else was faster: what is typed stays on the page, beside what is stored now."""
        row = Schedule.objects.get(id=spec.id)
        form.add_error(
            None,
            "Nothing was stored: somebody changed this schedule while you edited it. Compare below; open it anew "
            "to go on from how it is now.",
        )
        stored = initial_of(row)
        differs = [
            (
                str(form[name].label),
                _seen(form, name, stored.get(name)),
                _seen(form, name, form[name].value()),
            )
            for name in form.fields
            if name not in {"revision", "enabled", "id"} and _differs(stored.get(name), form[name].value())
        ]
        return self._form(request, form, row, conflict=differs)

    def _form(
        self,
        request: HttpRequest,
        form: ScheduleForm,
        row: Schedule | None,
        preview: dict[str, Any] | None = None,
        conflict: list[tuple[str, str, str]] | None = None,
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": Schedule._meta,
            "title": "New schedule" if row is None else f"Edit {row.id}",
            "form": form,
            "schedule": row,
            "back": list_url("schedule") if row is None else schedule_url(row.id),
            "job_types": sorted(map(registry.shown, registry.keys())),
            "zones": sorted(known_zones()),
            "anew": "" if row is None else verb_url(row.id, "edit"),
            "preview": preview,
            "conflict": conflict,
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "scheduler/admin/schedule_form.html", context)


def _differs(stored: object, typed: object) -> bool:
    return _plain(stored) != _plain(typed)


def _plain(value: object) -> str:
    return "\n".join(str("" if value is None else value).split())


def _seen(form: ScheduleForm, name: str, value: object) -> str:
    """A value as the page shows it: of a choice, its words."""
    choices = dict(getattr(form.fields[name], "choices", ()))
    return str(choices.get(value, value))[:300] if value not in (None, "") else str(choices.get("", ""))


def _preview(spec: ScheduleSpec, row: Schedule | None) -> dict[str, Any]:
    """What saving would do. Raises ScheduleInvalid, as saving would."""
    now = clock.now()
    wanted = definition.columns(spec, now=now, standing=row)
    found_impact = impact.impact(spec, now, standing=row, upcoming=NEXT)
    zone = looks.zone_of(wanted["timezone"])
    stand_in = Schedule(
        **{name: wanted[name] for name in ("id", "trigger_type", "trigger_config", "timezone")}
    )

    def lines(slots: tuple[Any, ...]) -> list[Any]:
        return [(looks.in_zone(slot, zone), looks.distance(slot, now)) for slot in slots[:MOVED]]

    def number(slots: tuple[Any, ...]) -> str:
        return f"{'at least ' if len(slots) >= impact.SHOWN else ''}{len(slots)}"

    added, removed = (found_impact.added, found_impact.removed) if row is not None else ((), ())
    return {
        "sentence": looks.sentence(stand_in),
        "expression": definition.timetable_of(stand_in).expression,
        "zone": zone.key,
        "slots": lines(found_impact.upcoming),
        "edit": row is not None,
        "days": impact.DAYS,
        "added": lines(added),
        "added_number": number(added),
        "removed": lines(removed),
        "removed_number": number(removed),
        "changes": [change_sentence(change, zone) for change in found_impact.clock_changes],
    }
