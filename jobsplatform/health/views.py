"""The health pages. Open to anyone, and silent about hosts, names and versions unless the token is shown."""

from __future__ import annotations

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from jobsplatform.health import probes
from jobsplatform.kernel import config
from jobsplatform.telemetry import metrics as numbers


@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """The process answers. It asks nobody else: a broken database is no reason to restart a web process."""
    return JsonResponse({"ok": True})


@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """200 when everything that work needs is there, else 503; either way each part's answer."""
    parts = probes.all_parts()
    ok = all(part.ok for part in parts)
    shown = _shows_token(request)
    names = shown or not config.get().health_token
    answers = {part.name: part.as_dict(open_details=shown, open_names=names) for part in parts}
    response = JsonResponse({"ok": ok, **answers}, status=200 if ok else 503)
    # Being asked every few seconds while not ready is no error of ours: Django need not log each answer.
    response._has_been_logged = True
    return response


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus text. Guarded by the health token when there is one: job types are named here."""
    if config.get().health_token and not _shows_token(request):
        answer = HttpResponse(
            "Send the health token: Authorization: Bearer …\n", status=401, content_type="text/plain"
        )
        answer["WWW-Authenticate"] = "Bearer"
        return answer
    try:
        body, kind = numbers.render()
    except DatabaseError:
        return HttpResponse("The database does not answer.\n", status=503, content_type="text/plain")
    return HttpResponse(body, content_type=kind)


def _shows_token(request: HttpRequest) -> bool:
    token = config.get().health_token
    given = request.headers.get("Authorization", "")
    return bool(token) and constant_time_compare(given.encode(), f"Bearer {token}".encode())
