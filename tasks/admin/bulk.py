"""Cancel, retry and resume many jobs: a selection, or everything that the list's filters match.

A selection across pages is worked off in slices, each a request of its own of about ``SLICE_SECONDS``: the page
in between shows how far it is and sends for the next slice by itself. Nothing times out half way, and closing
the page stops it at a known place. Jobs made after the start are left alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

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
from tasks import control
from tasks.admin.base import actor_of
from tasks.admin.paging import FiltersOnly
from tasks.models import Job
from tasks.states import ACTIVE, State

SLICE_SECONDS = 2.0
BATCH = 100
MOST_FAULTS = 3
"""How many different reasons of refusal a message lists."""


@dataclass(frozen=True, slots=True)
class Verb:
    """One of the bulk verbs; ``states`` are those it can do anything to."""

    name: str
    label: str
    permission: str
    states: frozenset[State]
    act: Callable[[UUID, Actor], str]


def _cancel(job_id: UUID, actor: Actor) -> str:
    return str(control.cancel(job_id, actor=actor).how)


def _retry(job_id: UUID, actor: Actor) -> str:
    control.retry(job_id, actor=actor)
    return "retried"


def _resume(job_id: UUID, actor: Actor) -> str:
    control.resume(job_id, actor=actor)
    return "resumed"


VERBS = {
    "cancel": Verb("cancel", "Cancel", "tasks.cancel_job", ACTIVE, _cancel),
    "retry": Verb("retry", "Retry", "tasks.retry_job", frozenset({State.FAILED, State.CANCELLED}), _retry),
    "resume": Verb("resume", "Resume", "tasks.resume_job", frozenset({State.PAUSED}), _resume),
}

_TOLD = {
    "cancelled": "cancelled",
    "requested": "asked to stop",
    "already_requested": "already asked to stop",
    "already_ended": "already ended, left alone",
    "retried": "will run again",
    "resumed": "resumed",
    "refused": "left alone",
}
_DONE = frozenset({"cancelled", "requested", "retried", "resumed"})


class BulkVerbs:
    """Part of the job admin: the three actions of the list."""

    actions = ("cancel_selected", "retry_selected", "resume_selected")

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm(VERBS["cancel"].permission))

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm(VERBS["retry"].permission))

    def has_resume_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm(VERBS["resume"].permission))

    @action(description="Cancel the selected jobs", permissions=["cancel"])
    def cancel_selected(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        return self._selected(VERBS["cancel"], request, queryset)

    @action(description="Retry the selected jobs", permissions=["retry"])
    def retry_selected(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        return self._selected(VERBS["retry"], request, queryset)

    @action(description="Resume the selected jobs", permissions=["resume"])
    def resume_selected(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        return self._selected(VERBS["resume"], request, queryset)

    def _selected(self, verb: Verb, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        if request.POST.get("select_across") == "1":
            newest = queryset.order_by("-id").values_list("id", flat=True).first()
            return self._slice(verb, request, Progress(request.GET.urlencode(), str(newest or UUID(int=0))))
        told: Counter[str] = Counter()
        faults: Counter[str] = Counter()
        for job_id in queryset.values_list("id", flat=True):
            _one(verb, job_id, actor_of(request), told, faults)
        _tell(request, told, faults)
        return None

    def bulk_view(self, request: HttpRequest, name: str) -> HttpResponse:
        """The next slice of a bulk verb; the form brings back what the last one said, signed."""
        verb = VERBS.get(name)
        if verb is None:
            raise Http404
        if not request.user.has_perm(verb.permission):
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        try:
            progress = Progress(**signing.loads(request.POST.get("progress", ""), salt=f"bulk.{name}"))
        except (signing.BadSignature, TypeError):
            messages.error(request, "This page was too old or incomplete; nothing more was done.")
            return HttpResponseRedirect(reverse("admin:tasks_job_changelist"))
        return self._slice(verb, request, progress)

    def _slice(self, verb: Verb, request: HttpRequest, progress: Progress) -> HttpResponse:
        rows = self._filtered(request, progress.query).filter(state__in=sorted(verb.states))
        told, faults = Counter(progress.told), Counter(progress.faults)
        until, after, more = clock.monotonic() + SLICE_SECONDS, UUID(progress.after), True
        actor = actor_of(request)
        while more and clock.monotonic() < until:
            ids = list(rows.filter(id__lte=after).order_by("-id").values_list("id", flat=True)[:BATCH])
            for job_id in ids:
                _one(verb, job_id, actor, told, faults)
            more = len(ids) == BATCH
            if ids:
                after = UUID(int=max(ids[-1].int - 1, 0))
        back = f"{reverse('admin:tasks_job_changelist')}?{progress.query}".rstrip("?")
        if not more:
            _tell(request, told, faults)
            return HttpResponseRedirect(back)
        following = Progress(progress.query, str(after), dict(told), dict(faults))
        site: admin.AdminSite = self.admin_site  # type: ignore[attr-defined]
        context = {
            **site.each_context(request),
            "opts": Job._meta,
            "title": f"{verb.label} jobs",
            "done": sum(told.values()),
            "told": [(count, _TOLD[how]) for how, count in told.most_common()],
            "next_url": reverse("admin:tasks_job_bulk", args=[verb.name]),
            "progress": signing.dumps(following.as_dict(), salt=f"bulk.{verb.name}"),
            "back": back,
        }
        return TemplateResponse(request, "tasks/admin/bulk.html", context)

    def _filtered(self, request: HttpRequest, query: str) -> QuerySet[Job]:
        """The rows that the list shows for this query string, by the same filters; what they say is not told."""
        before, told = request.GET, request._messages
        request.GET = QueryDict(query)
        request._messages = _Unheard()
        try:
            changes = self._asked(request)
            rows: QuerySet[Job] = changes.get_queryset(request)
        except IncorrectLookupParameters:
            return Job.objects.none()
        finally:
            request.GET, request._messages = before, told
        return rows.order_by()

    def _asked(self, request: HttpRequest) -> FiltersOnly:
        own: Any = self
        return FiltersOnly(
            request, own.model, own.get_list_display(request), own.get_list_display_links(request, ()),
            own.get_list_filter(request), own.date_hierarchy, own.get_search_fields(request),
            own.get_list_select_related(request), own.list_per_page, own.list_max_show_all, own.list_editable, own,
            own.get_sortable_by(request), own.search_help_text,
        )  # fmt: skip


class _Unheard:
    """In the place of the messages of a request."""

    def add(self, level: int, message: str, extra_tags: str = "") -> None:
        """Nobody hears it."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a bulk verb is: the list's query string, the newest id still to look at, and what has happened."""

    query: str
    after: str
    told: dict[str, int] | None = None
    faults: dict[str, int] | None = None

    def as_dict(self) -> dict[str, Any]:
        return {"query": self.query, "after": self.after, "told": self.told, "faults": self.faults}


def _one(verb: Verb, job_id: UUID, actor: Actor, told: Counter[str], faults: Counter[str]) -> None:
    try:
        told[verb.act(job_id, actor)] += 1
    except PlatformError as error:
        told["refused"] += 1
        # Without the id, equal reasons of many jobs are one.
        reason = error.message.replace(str(job_id), "…")
        faults[reason if reason in faults or len(faults) < MOST_FAULTS else "other reasons"] += 1


def _tell(request: HttpRequest, told: Counter[str], faults: Counter[str]) -> None:
    """What happened to how many."""
    if not told:
        messages.warning(request, "Nothing done: no job was in a state for it.")
        return
    parts = [f"{count:,} {_TOLD[how]}" for how, count in told.most_common()]
    text = f"{sum(told.values()):,} jobs looked at: {', '.join(parts)}."
    why = " ".join(f"{count}× {reason}" for reason, count in faults.items())
    level = messages.SUCCESS if _DONE & set(told) else messages.WARNING
    messages.add_message(request, level, f"{text} {why}".strip())
