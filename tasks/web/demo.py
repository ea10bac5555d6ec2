"""The demo page: a real scan of a folder, watched live through the React hooks of the JavaScript SDK. For staff."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.contrib.admin.views.decorators import staff_member_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from jobsplatform.kernel import audit, config
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.errors import InvalidInput, PlatformError
from tasks.submit import JobRequest, submit

JOB_TYPE = "files.scan"
MAY_START = "tasks.enqueue_job"
LONGEST = 4096
PLACE = "00000000-0000-0000-0000-000000000000"
"""Stands for a job's id in the address that the page makes links of."""


@staff_member_required
@never_cache
@require_GET
def page(request: HttpRequest) -> HttpResponse:
    """The page itself; everything on it is drawn by its script."""
    facts = {
        "start": reverse("demo:start"),
        "root": suggested_root(),
        "job": _admin("admin:tasks_job_change", PLACE),
        "place": PLACE,
        "mayStart": request.user.has_perm(MAY_START),
        "csrfToken": get_token(request),
    }
    home = _admin("admin:index")
    return render(request, "tasks/demo.html", {"facts": facts, "home": home})


@staff_member_required
@require_POST
def start(request: HttpRequest) -> HttpResponse:
    """Start a scan of the folder ``root`` of a JSON object; answers its ``id``. Refusals have the shape of the bus."""
    if not request.user.has_perm(MAY_START):
        return _refusal(403, "FORBIDDEN", "You may not start jobs.")
    try:
        params = {"root": _root(request)}
        with transaction.atomic():
            made = submit(JobRequest(JOB_TYPE, params, priority="user_action"))
            _record(request, str(made.id))
    except PlatformError as error:
        return _refusal(error.http_status, error.code, error.message)
    return JsonResponse({"id": str(made.id)})


def suggested_root() -> str:
    """A folder that may be scanned: the first that the settings allow, else our own code."""
    allowed = config.get().tasks.files_scan_roots
    return str(allowed[0]) if allowed else str(Path(__file__).resolve().parents[1])


def _root(request: HttpRequest) -> str:
    try:
        given = json.loads(request.body)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or set(given) != {"root"}:
        raise InvalidInput('Expected a JSON object {"root": "/a/folder"}.')
    root = given["root"]
    if not isinstance(root, str) or not root.startswith("/") or len(root) > LONGEST:
        raise InvalidInput(f"root: expected the absolute path of a folder, at most {LONGEST} characters.")
    return root


def _record(request: HttpRequest, job_id: str) -> None:
    user: Any = request.user
    actor = Actor(user.get_username(), "user", ip=request.META.get("REMOTE_ADDR", ""))
    audit.record("job.enqueue", "job", job_id, actor=actor, after={"job_type": JOB_TYPE})


def _refusal(status: int, code: str, message: str) -> HttpResponse:
    return JsonResponse({"error": {"code": code, "message": message, "details": {}}}, status=status)


def _admin(name: str, *values: str) -> str:
    """The address of an admin page; empty in a project that has none."""
    try:
        return reverse(name, args=values)
    except NoReverseMatch:
        return ""
