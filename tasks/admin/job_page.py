"""The page of one job, and its buttons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import PlatformError
from jobsplatform.kernel.models import Process
from tasks import control, output, queries, why
from tasks.admin import live, shapes
from tasks.admin.base import actor_of, refuse, verb
from tasks.live import topics
from tasks.models import Job, JobAttempt
from tasks.states import ACTIVE, FINAL, IN_FLIGHT, Role, State

_PAYLOADS = ("params", "data", "result")
SHOWN = 20
"""How many children, aliases and attempts a page lists."""


@dataclass(frozen=True, slots=True)
class Button:
    """One verb on the page; ``confirm`` is asked before it is sent."""

    label: str
    url: str
    tone: str
    confirm: str = ""
    fields: tuple[tuple[str, str], ...] = ()


class JobPage:
    """Part of the job admin: what the page of a job shows and does."""

    page_template = "tasks/admin/job.html"

    def page_context(self, request: HttpRequest, job: Job) -> dict[str, Any]:
        now = clock.now()
        may_see = request.user.has_perm("tasks.view_payload")
        shape = output.job_output(job, payload=may_see, now=now)
        attempts = list(job.attempts.order_by("-lease")[: SHOWN + 1])
        return {
            "title": f"{shapes.name_of(job)} {job.id}",
            "name": shapes.name_of(job),
            "badge": shapes.state_badge(job.state, job.hold),
            "bar": shapes.bar(*_progress(shape["progress"])) if _has_progress(shape) else "",
            "topics": live.topics(topics.of_job(job.id)),
            "now": now.isoformat(),
            "question": "What is it doing?" if job.state in IN_FLIGHT else "Why is it not running?",
            "why": "" if job.state in FINAL else why.why_not_running(job, now),
            "facts": _facts(job, shape),
            "moments": _moments(job),
            "attempts": [_attempt(a) for a in attempts[:SHOWN]],
            "more_attempts": len(attempts) > SHOWN,
            "payloads": [
                (name, shapes.pretty(shape[name])) for name in _PAYLOADS if shape[name] or name == "params"
            ],
            "checkpoint": shapes.pretty(job.checkpoint) if may_see and job.checkpoint is not None else "",
            "may_see": may_see,
            "error": shape["error"],
            **_family(job),
            "buttons": _buttons(request, job),
        }

    @verb("tasks.cancel_job")
    def cancel_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Cancel one job; with ``cascade`` its children too."""
        cascade = request.POST.get("cascade") == "1"

        def act(job_id: UUID) -> str:
            result = control.cancel(job_id, actor=actor_of(request), cascade=cascade)
            return _TOLD[result.how] + (" Its children too." if cascade else "")

        return _on_one(request, object_id, act)

    @verb("tasks.retry_job")
    def retry_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Run an ended job again."""
        return _on_one(
            request, object_id, lambda job_id: _retried(control.retry(job_id, actor=actor_of(request)))
        )

    @verb("tasks.resume_job")
    def resume_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Let a paused job go on."""

        def act(job_id: UUID) -> str:
            control.resume(job_id, actor=actor_of(request))
            return "Resumed: it waits for a free slot."

        return _on_one(request, object_id, act)


_TOLD = {
    "cancelled": "Cancelled.",
    "requested": "Asked to stop: it ends at its next check, or is stopped after its grace time.",
    "already_ended": "Nothing done: it had already ended.",
    "already_requested": "Nothing done: it had already been asked to stop.",
}


def _retried(made: Any) -> str:
    return "It will run again." if isinstance(made, Job) else f"It will run again, as job {made.id}."


def _on_one(request: HttpRequest, object_id: str, act: Callable[[UUID], str]) -> HttpResponse:
    """Do it, say what happened, and show the job again (or the list, when there is no such job)."""
    try:
        job = queries.get_job(object_id)
    except PlatformError as error:
        refuse(request, error)
        return HttpResponseRedirect(reverse("admin:tasks_job_changelist"))
    try:
        told = act(job.id)
        (messages.warning if told.startswith("Nothing") else messages.success)(request, told)
    except PlatformError as error:
        refuse(request, error)
    return HttpResponseRedirect(shapes.job_url(job.id))


def _attempt(attempt: JobAttempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "lease": attempt.lease,
        "badge": shapes.outcome_badge(attempt.outcome, attempt.cause),
        "when": shapes.instant(attempt.started_at),
        "length": shapes.span(attempt.finished_at - attempt.started_at),
        "worker": attempt.worker,
        "reason": attempt.reason,
        "error_type": attempt.error_type,
        "error": attempt.error,
        "traceback": attempt.traceback,
    }


def _has_progress(shape: dict[str, Any]) -> bool:
    return (shape["progress"] or {}).get("done") is not None


def _progress(progress: dict[str, Any] | None) -> tuple[Any, Any, str, Any]:
    progress = progress or {}
    return (
        progress.get("done"),
        progress.get("total"),
        progress.get("label") or "",
        progress.get("eta_seconds"),
    )


def _facts(job: Job, shape: dict[str, Any]) -> list[tuple[str, Any]]:
    worker = Process.objects.filter(pk=job.worker_id).first() if job.worker_id else None
    eta = (shape["progress"] or {}).get("eta_seconds")
    facts: list[tuple[str, Any]] = [
        ("Queue", job.queue),
        ("Priority", f"{shapes.priority(job.priority)} ({job.priority})"),
        ("Attempt", f"{job.attempt} of {job.max_attempts}"),
        ("Run lease", job.lease or ""),
        ("Worker", worker.name if worker else job.worker_id or ""),
        ("Reason", job.reason),
        ("Cause", job.cause),
        ("Cancel asked", job.cancel_reason),
        ("Progress note", job.progress_label),
        ("Time left", "" if eta is None else f"about {shapes.short(eta * 1000)}"),
        ("User", job.user_id),
        ("Tenant", job.tenant_id),
        ("Dedupe key", job.dedupe_key),
        (
            "Concurrency key",
            f"{job.concurrency_key} (at most {job.concurrency_limit})" if job.concurrency_key else "",
        ),
        ("Overlap", f"{job.overlap} (key {job.overlap_key})" if job.overlap else ""),
        ("Schedule", job.schedule_id),
        ("Origin", job.origin),
        ("Request", job.request_id),
        ("Parent", shapes.job_link(job.parent_id) if job.parent_id else ""),
        (
            "Alias of" if job.role == Role.ALIAS else "Leader",
            shapes.job_link(job.leader_id) if job.leader_id else "",
        ),
        ("Preempted by", shapes.job_link(job.preempted_by) if job.preempted_by else ""),
    ]
    return [(name, value) for name, value in facts if value not in ("", None)]


def _moments(job: Job) -> list[tuple[str, Any, str, str]]:
    now = clock.now()
    moments = [
        ("Planned", job.planned_at),
        ("Created", job.created_at),
        ("Asked for", job.run_after),
        ("Due", job.due_at),
        ("Latest start", job.latest_start_at),
        ("First start", job.first_started_at if job.first_started_at != job.started_at else None),
        ("Dispatched", job.dispatched_at),
        ("Started", job.started_at),
        ("Cancel asked", job.cancel_requested_at),
        ("Ended", job.finished_at),
        ("Deadline", job.deadline_at if job.state in ACTIVE else None),
        ("Removed after", job.purge_at),
    ]
    return [
        (name, shapes.instant(at), shapes.span(abs(now - at)), "from now" if at > now else "ago")
        for name, at in moments
        if at is not None
    ]


def _family(job: Job) -> dict[str, Any]:
    summary = queries.children_summary(job.id)
    listed = ("id", "handler_key", "state", "hold", "child_key")
    children = list(job.children.only(*listed).order_by("id")[:SHOWN]) if summary["total"] else []
    aliases = list(job.aliases.only(*listed, "created_at").order_by("id")[: SHOWN + 1])
    return {
        "children": [
            (shapes.job_link(c.id, c.child_key or str(c.id)), shapes.state_badge(c.state, c.hold))
            for c in children
        ],
        "children_summary": summary,
        "children_states": [
            (state, summary.get(state, 0), shapes.TONES[state]) for state in State if summary.get(state)
        ],
        "children_url": f"{reverse('admin:tasks_job_changelist')}?parent={job.id}",
        "aliases": [(shapes.job_link(a.id), shapes.state_badge(a.state)) for a in aliases[:SHOWN]],
        "more_aliases": len(aliases) > SHOWN,
    }


def _buttons(request: HttpRequest, job: Job) -> list[Button]:
    may: Callable[[str], bool] = request.user.has_perm

    def url(name: str) -> str:
        return reverse(f"admin:tasks_job_{name}", args=[job.id])

    buttons = []
    if job.state == State.PAUSED and may("tasks.resume_job"):
        buttons.append(Button("Resume", url("resume"), "primary"))
    if job.state in {State.FAILED, State.CANCELLED} and may("tasks.retry_job"):
        buttons.append(Button("Retry", url("retry"), "primary"))
    if job.state in ACTIVE and may("tasks.cancel_job"):
        buttons.append(Button("Cancel", url("cancel"), "danger", "Cancel this job?"))
        if job.children.exists():
            ask = "Cancel this job and all of its children?"
            buttons.append(Button("Cancel with children", url("cancel"), "danger", ask, (("cascade", "1"),)))
    return buttons
