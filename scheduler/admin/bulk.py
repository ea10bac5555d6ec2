"""Pause and resume many schedules: a selection, or everything that the list's filters match.

A choice across pages is worked off in slices, each a request of its own: nothing times out half way.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
    QueryDict,
)
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.decorators import action

from jobsplatform.kernel import clock
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.errors import PlatformError
from scheduler import control
from scheduler.admin.addresses import list_url
from scheduler.admin.forms import PauseForm
from scheduler.models import Schedule
from tasks.admin.base import actor_of

PERMISSION = "scheduler.pause_schedule"
SLICE_SECONDS = 2.0
BATCH = 50
NAMES = ("pause", "resume")


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be done to which schedules, and how far it is; it travels through the pages, signed.

    ``ids``: a selection; else everything that ``query`` (of the list) matches, after the id ``after``.
    """

    query: str
    ids: list[str] | None = None
    after: str = ""
    options: dict[str, str] = field(default_factory=dict)
    done: int = 0
    refused: int = 0
    fault: str = ""

    def signed(self, name: str) -> str:
        return signing.dumps(asdict(self), salt=f"schedules.{name}")


class BulkPauses:
    """Part of the schedule admin: the two actions of the list."""

    actions = ("pause_selected", "resume_selected")
    admin_site: admin.AdminSite

    def has_pause_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm(PERMISSION))

    @action(description="Pause the selected schedules …", permissions=["pause"])
    def pause_selected(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> HttpResponse | None:
        return self._ask(request, PauseForm(), _chosen(request, queryset))

    @action(description="Resume the selected schedules", permissions=["pause"])
    def resume_selected(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> HttpResponse | None:
        return self._slice(request, "resume", _chosen(request, queryset))

    def bulk_view(self, request: HttpRequest, name: str) -> HttpResponse:
        """The form's answer, or the next slice."""
        if name not in NAMES:
            raise Http404
        if not request.user.has_perm(PERMISSION):
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        try:
            choice = Choice(**signing.loads(request.POST.get("progress", ""), salt=f"schedules.{name}"))
        except (signing.BadSignature, TypeError):
            messages.error(request, "This page was too old or incomplete; nothing more was done.")
            return HttpResponseRedirect(list_url("schedule"))
        if name == "pause" and not choice.options:
            form = PauseForm(request.POST)
            if not form.is_valid():
                return self._ask(request, form, choice)
            expires = form.cleaned_data["expires_at"]
            if expires is not None and expires <= clock.now():
                form.add_error("expires_at", "Expected a time that is still to come.")
                return self._ask(request, form, choice)
            choice = _changed(
                choice,
                options={
                    "reason": form.cleaned_data["reason"],
                    "resume_rule": form.cleaned_data["resume_rule"],
                    "expires_at": expires.isoformat() if expires is not None else "",
                },
            )
        return self._slice(request, name, choice)

    def _ask(self, request: HttpRequest, form: PauseForm, choice: Choice) -> HttpResponse:
        number = len(choice.ids) if choice.ids is not None else _rows(self, request, choice).count()
        context = {
            **self.admin_site.each_context(request),
            "opts": Schedule._meta,
            "title": f"Pause {number:,} schedule{'' if number == 1 else 's'}",
            "about": "No slot of them fires until they are resumed. Jobs that were made already go on.",
            "form": form,
            "action": reverse("admin:scheduler_schedule_bulk", args=["pause"]),
            "progress": choice.signed("pause"),
            "submit": "Pause",
            "tone": "danger",
            "back": _list_of(choice),
        }
        return TemplateResponse(request, "scheduler/admin/form.html", context)

    def _slice(self, request: HttpRequest, name: str, choice: Choice) -> HttpResponse:
        until, actor = clock.monotonic() + SLICE_SECONDS, actor_of(request)
        while True:  # a batch at least, so that every page gets further
            ids = _next(self, request, choice)
            if ids:
                choice = _changed(_do(name, ids, choice, actor), after=ids[-1])
            if len(ids) < BATCH or clock.monotonic() >= until:
                break
        if len(ids) < BATCH:
            _tell(request, name, choice)
            return HttpResponseRedirect(_list_of(choice))
        context = {
            **self.admin_site.each_context(request),
            "opts": Schedule._meta,
            "title": f"{name.capitalize()} schedules",
            "done": choice.done + choice.refused,
            "told": [(choice.done, _WORDS[name]), (choice.refused, "left alone")],
            "next_url": reverse("admin:scheduler_schedule_bulk", args=[name]),
            "progress": choice.signed(name),
            "back": _list_of(choice),
            "noun": "schedules",
        }
        return TemplateResponse(request, "scheduler/admin/bulk.html", context)


_WORDS = {"pause": "paused", "resume": "resumed"}


def _changed(choice: Choice, **values: Any) -> Choice:
    return Choice(**{**asdict(choice), **values})


def _chosen(request: HttpRequest, queryset: QuerySet[Schedule]) -> Choice:
    """A selection by its ids; all across pages by the list's query."""
    query = request.GET.urlencode()
    if request.POST.get("select_across") == "1":
        return Choice(query)
    return Choice(query, sorted(queryset.order_by().values_list("id", flat=True)))


def _list_of(choice: Choice) -> str:
    return f"{list_url('schedule')}?{choice.query}".rstrip("?")


def _rows(site: Any, request: HttpRequest, choice: Choice) -> QuerySet[Schedule]:
    """What the list shows for this query, by the same filters."""
    before = request.GET
    request.GET = QueryDict(choice.query)
    try:
        rows: QuerySet[Schedule] = site.get_changelist_instance(request).get_queryset(request)
    except IncorrectLookupParameters:
        return Schedule.objects.none()
    finally:
        request.GET = before
    return Schedule.objects.filter(id__in=rows.order_by().values("id"), archived_at=None)


def _next(site: Any, request: HttpRequest, choice: Choice) -> list[str]:
    if choice.ids is not None:
        return [schedule_id for schedule_id in choice.ids if schedule_id > choice.after][:BATCH]
    rows = _rows(site, request, choice).filter(id__gt=choice.after)
    return list(rows.order_by("id").values_list("id", flat=True)[:BATCH])


def _do(name: str, ids: list[str], choice: Choice, actor: Actor) -> Choice:
    """All of a slice in one transaction; when one of them cannot be, each by itself."""
    try:
        return _changed(choice, done=choice.done + _act(name, ids, choice, actor))
    except PlatformError:
        pass
    done, refused, fault = choice.done, choice.refused, choice.fault
    for schedule_id in ids:
        try:
            done += _act(name, [schedule_id], choice, actor)
        except PlatformError as error:
            refused, fault = refused + 1, error.message
    return _changed(choice, done=done, refused=refused, fault=fault)


def _act(name: str, ids: list[str], choice: Choice, actor: Actor) -> int:
    if name == "resume":
        return len(control.resume_many(ids, actor=actor))
    expires = choice.options.get("expires_at")
    paused = control.pause_many(
        ids,
        actor=actor,
        reason=choice.options.get("reason", ""),
        resume_rule=choice.options.get("resume_rule", "drop"),
        expires_at=datetime.fromisoformat(expires) if expires else None,
    )
    return len(paused)


def _tell(request: HttpRequest, name: str, choice: Choice) -> None:
    if not choice.done and not choice.refused:
        messages.warning(request, f"Nothing done: none of them could be {_WORDS[name]}.")
        return
    told = f"{choice.done:,} schedules {_WORDS[name]}."
    if choice.refused:
        told += f" {choice.refused:,} left alone: {choice.fault}"
    messages.add_message(request, messages.SUCCESS if choice.done else messages.WARNING, told)
