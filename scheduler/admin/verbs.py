"""What people do to one schedule: run now, pause, resume, skip, archive, restore, delete.

Each asks for its own permission and changes something by POST alone; the writing is done by ``scheduler.control``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.html import format_html

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import PlatformError
from scheduler import control
from scheduler.admin import looks
from scheduler.admin.addresses import list_url, schedule_url, unquote
from scheduler.admin.forms import PauseForm, RunForm, local_text
from scheduler.admin.schedule_page import tenant_of
from scheduler.errors import ScheduleTriggerConflict
from scheduler.models import Schedule, ScheduleState
from scheduler.queries import pauses_in_force
from scheduler.requests import ScheduleTriggerResult
from scheduler.states import Audience, PauseScope, Status
from tasks.admin import shapes
from tasks.admin.base import actor_of, refuse, verb

TENANTS_OFFERED = 500


def found(object_id: str) -> Schedule:
    """The schedule of an address. Raises Http404."""
    name = unquote(object_id)
    row = None if "\x00" in name else Schedule.objects.filter(id=name).first()
    if row is None:
        raise Http404(f"No schedule {name[:200]!r}.")
    return row


def guard(request: HttpRequest, permission: str) -> HttpResponse | None:
    """For a view with a form of its own: GET shows it, POST does it. Raises PermissionDenied."""
    if not request.user.has_perm(permission):
        raise PermissionDenied
    if request.method not in {"GET", "HEAD", "POST"}:
        return HttpResponseNotAllowed(["GET", "POST"])
    return None


def tenants_of(row: Schedule) -> list[str] | None:
    """For whom a run can be asked; None: for the host alone."""
    if row.audience == Audience.GLOBAL:
        return None
    states = ScheduleState.objects.filter(schedule_id=row.id).order_by("tenant_id")
    return list(states.values_list("tenant_id", flat=True)[:TENANTS_OFFERED])


def form_page(request: HttpRequest, site: admin.AdminSite, row: Schedule, **context: Any) -> TemplateResponse:
    """A page with one form about one schedule."""
    given = {
        **site.each_context(request),
        "opts": Schedule._meta,
        "schedule": row,
        "back": schedule_url(row.id),
        **context,
    }
    request.current_app = site.name
    return TemplateResponse(request, context.get("template", "scheduler/admin/form.html"), given)


class Verbs:
    """Part of the schedule admin."""

    admin_site: admin.AdminSite

    def run_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The form with params, and the run."""
        refused = guard(request, "scheduler.run_schedule")
        if refused is not None:
            return refused
        row = found(object_id)
        tenants = tenants_of(row)
        initial: dict[str, Any] = {"tenant": tenant_of(row, request.GET.get("tenant", ""))}
        if request.user.has_perm("tasks.view_payload"):
            initial["params"] = shapes.pretty(row.params)
        form = RunForm(request.POST if request.method == "POST" else None, initial=initial, tenants=tenants)
        if request.method == "POST" and form.is_valid():
            try:
                return self._run(request, row, form.cleaned_data)
            except PlatformError as error:
                form.add_error("params" if error.code == "PARAMS_INVALID" else None, error.message)
                if isinstance(error, ScheduleTriggerConflict):  # the next try is another wish
                    form.data = {**form.data.dict(), "key": RunForm().fields["key"].initial}
        return form_page(
            request, self.admin_site, row, form=form, title=f"Run {row.id} now", submit="Run now",
            tone="primary", about="It runs at once, also while the schedule is paused. It takes no slot, moves none.",
            names=tenants or [],
        )  # fmt: skip

    def _run(self, request: HttpRequest, row: Schedule, data: dict[str, Any]) -> HttpResponse:
        tenant = data.get("tenant", "")
        result = control.run_now(
            row.id,
            tenant_id=tenant,
            key=data["key"],
            params=data["params"],
            force=data["force"],
            actor=actor_of(request),
        )
        _tell_run(request, result)
        return HttpResponseRedirect(schedule_url(row.id, tenant))

    def pause_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The form with reason, expiry and rule, and the pause."""
        refused = guard(request, "scheduler.pause_schedule")
        if refused is not None:
            return refused
        row = found(object_id)
        standing = (
            pauses_in_force(clock.now())
            .filter(scope=PauseScope.SCHEDULE, target=row.id)
            .order_by("id")
            .first()
        )
        initial = (
            {}
            if standing is None
            else {
                "reason": standing.reason,
                "resume_rule": standing.resume_rule,
                "expires_at": local_text(standing.expires_at),
            }
        )
        form = PauseForm(request.POST if request.method == "POST" else None, initial=initial)
        if request.method == "POST" and form.is_valid():
            try:
                pause = control.pause(
                    PauseScope.SCHEDULE, row.id, actor=actor_of(request), **form.cleaned_data
                )
            except PlatformError as error:
                add_pause_error(form, error)
            else:
                until = format_html(" until {}", shapes.instant(pause.expires_at)) if pause.expires_at else ""
                messages.success(request, format_html("Paused: {}{}.", row.id, until))
                return HttpResponseRedirect(schedule_url(row.id))
        return form_page(
            request, self.admin_site, row, form=form, title=f"Pause {row.id}", submit="Pause", tone="danger",
            about="No slot of it fires until it is resumed. Jobs that were made already go on.",
        )  # fmt: skip

    @verb("scheduler.pause_schedule")
    def resume_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Lift the pause of one schedule."""

        def act(row: Schedule) -> str:
            lifted = control.resume(PauseScope.SCHEDULE, row.id, actor=actor_of(request))
            if lifted is None:
                return "Nothing done: it is not paused by itself."
            wider = pauses_in_force(clock.now()).filter(scope=PauseScope.ALL).exists()
            return "Resumed." + (" But everything is paused: it waits for that." if wider else "")

        return _on_one(request, object_id, act)

    @verb("scheduler.skip_schedule")
    def skip_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Have one coming slot decided as skipped: the one that the button named, or the next."""

        def act(row: Schedule) -> str:
            slot = control.skip_next(row.id, actor=actor_of(request), **_slot_of(request))
            return format_html("To be skipped: {}.", looks.in_zone(slot, looks.zone_of(row.timezone)))

        return _on_one(request, object_id, act)

    @verb("scheduler.skip_schedule")
    def unskip_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Let a slot run that was to be skipped."""

        def act(row: Schedule) -> str:
            slot = control.unskip(row.id, actor=actor_of(request), **_slot_of(request))
            return format_html("It runs after all: {}.", looks.in_zone(slot, looks.zone_of(row.timezone)))

        return _on_one(request, object_id, act)

    @verb("scheduler.change_schedule")
    def archive_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take a schedule out of use."""

        def act(row: Schedule) -> str:
            control.archive(row.id, actor=actor_of(request))
            return "Archived. It can be restored."

        return _on_one(request, object_id, act)

    @verb("scheduler.change_schedule")
    def restore_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take it into use again."""

        def act(row: Schedule) -> str:
            control.restore(row.id, actor=actor_of(request))
            return "Restored: its slots are those from now on."

        return _on_one(request, object_id, act)

    @verb("scheduler.delete_schedule")
    def remove_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Remove it; its history stays."""
        row = found(object_id)
        try:
            control.delete(row.id, actor=actor_of(request))
        except PlatformError as error:
            refuse(request, error)
            return HttpResponseRedirect(schedule_url(row.id))
        messages.success(request, f"Deleted: {row.id}. Its log stays as long as it is kept.")
        return HttpResponseRedirect(list_url("schedule"))


def add_pause_error(form: forms.Form, error: PlatformError) -> None:
    """At the field that it names."""
    field, colon, rest = error.message.partition(": ")
    if colon and field in form.fields:
        form.add_error(field, rest)
    else:
        form.add_error(None, error.message)


def _slot_of(request: HttpRequest) -> dict[str, Any]:
    """Which slot, and of which tenant. Raises InvalidInput by way of ``control`` for what is none."""
    given: dict[str, Any] = {"tenant_id": _tenant(request)}
    text = request.POST.get("planned_at", "")
    if text:
        try:
            given["planned_at"] = datetime.fromisoformat(text)
        except ValueError:
            given["planned_at"] = text
    return given


def _on_one(request: HttpRequest, object_id: str, act: Callable[[Schedule], str]) -> HttpResponse:
    """Do it, say what happened, and show the schedule again."""
    row = found(object_id)
    try:
        told = act(row)
        (messages.warning if told.startswith("Nothing") else messages.success)(request, told)
    except PlatformError as error:
        refuse(request, error)
    return HttpResponseRedirect(schedule_url(row.id, _tenant(request)))


def _tenant(request: HttpRequest) -> str:
    """Of which tenant; what no database can hold is shown as what it is not."""
    return request.POST.get("tenant", "").replace("\x00", "�")


def _tell_run(request: HttpRequest, result: ScheduleTriggerResult) -> None:
    """What became of the wish: a job, or why there is none."""
    link = shapes.job_link(result.task_id, f"job {result.task_id}") if result.task_id else ""
    if result.status == Status.FIRED:
        told = (
            "This was sent before, and is one run: {}."
            if result.replayed
            else "It runs now, or waits for a free slot: {}."
        )
        messages.success(request, format_html(told, link))
    elif result.status == Status.FAILED:
        messages.error(request, f"No job was made: {result.error or result.reason}")
    else:
        why = {
            "already_running": "an earlier run is not finished. Wait for it, or use “force”: then it takes its turn.",
            "duplicate": "a job of the same key is active already.",
        }.get(result.reason, f"{result.reason}.")
        messages.warning(request, f"Not run ({result.status}): {why}")
