"""Over HTTP: a ticket for the WebSocket, and the snapshot of a topic for whoever cannot have one."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_GET, require_POST

from jobsplatform.kernel import clock, tokens
from jobsplatform.kernel.login import address_of
from jobsplatform.kernel.models import AppToken
from tasks.live import credentials, frames, reads, tickets, topics
from tasks.live.plain import all_plain
from tasks.live.refusals import Refused
from tasks.live.topics import Kind
from tasks.live.viewer import Viewer
from tasks.models.outside import USER_LENGTH

BODY_BYTES = 65_536
BEARER = "bearer "


class Answer(Exception):
    """A refusal, with its HTTP status."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message

    def response(self) -> HttpResponse:
        body = {"error": {"code": self.code, "message": self.message, "details": {}}}
        response = JsonResponse(body, status=self.status)
        if self.status == 401:
            response["WWW-Authenticate"] = "Bearer"
        return response


def _nobody() -> Answer:
    # Made anew each time: an exception that is raised again keeps the frames of every time before.
    return Answer(401, "UNAUTHENTICATED", "Sign in, or send a valid token as 'Authorization: Bearer …'.")


@csrf_exempt
@never_cache
@require_POST
def ticket(request: HttpRequest) -> HttpResponse:
    """``POST /live/ticket``: by a session (with its CSRF token), or by an app's token."""
    if "Authorization" in request.headers:
        return _answered(_ticket_for_app, request)
    return _by_session(request)


@csrf_protect
def _by_session(request: HttpRequest) -> HttpResponse:
    return _answered(_ticket_for_session, request)


@never_cache
@require_GET
def poll(request: HttpRequest) -> HttpResponse:
    """``GET /live/poll?topic=…&limit=…``: the snapshot of a topic, by a session or an app's token."""
    return _answered(_poll, request)


def _answered(view: Any, request: HttpRequest) -> HttpResponse:
    try:
        answer: HttpResponse = view(request)
        return answer
    except Answer as refused:
        return refused.response()
    except Refused as refused:
        status = {"NOT_FOUND": 404, "FORBIDDEN": 403}.get(refused.code, 400)
        return Answer(status, refused.code, refused.message).response()


def _ticket_for_session(request: HttpRequest) -> HttpResponse:
    credential, viewer = _signed_in(request)
    given = _body(request, {"topics"})
    names = _topics(given, viewer)
    text = tickets.for_session(credential.key, viewer.user_id, names, clock.now())
    return JsonResponse({"ticket": text, "expires_in": tickets.SECONDS})


def _ticket_for_app(request: HttpRequest) -> HttpResponse:
    token = _token(request)
    given = _body(request, {"topics", "user_id"})
    user_id = given.get("user_id", "")
    if not isinstance(user_id, str) or len(user_id) > USER_LENGTH:
        raise Answer(400, "INVALID", f"user_id: expected a text of at most {USER_LENGTH} characters.")
    names = _topics(given, Viewer(user_id=user_id, app_id=token.app.app_id))
    text = tickets.for_app(token, user_id, names, clock.now())
    return JsonResponse({"ticket": text, "expires_in": tickets.SECONDS})


def _poll(request: HttpRequest) -> HttpResponse:
    if "Authorization" in request.headers:
        viewer = Viewer(app_id=_token(request).app.app_id)
    else:
        viewer = _signed_in(request)[1]
    topic = topics.parse(request.GET.get("topic"))
    audience = viewer.audience(topic)
    if audience is None:
        raise _not_for_you(topic.kind)
    inside, shown = reads.snapshot(topic, audience, _limit(request.GET.get("limit")))
    if topic.kind is Kind.JOB and not shown:
        raise _not_for_you(topic.kind)
    return HttpResponse(f'{{"type":"snapshot",{inside}}}', content_type="application/json")


def _not_for_you(kind: Kind) -> Refused:
    if kind is Kind.JOB:
        return Refused("NOT_FOUND", "There is no such job, or it is not for you.")
    return Refused("FORBIDDEN", "This topic is not for you.")


def _limit(text: str | None) -> int:
    if text is None:
        return frames.USUAL_JOBS
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= 1):
        raise Answer(400, "INVALID", "limit: expected a whole number from 1 on.")
    return min(frames.MOST_JOBS, int(text))


def _signed_in(request: HttpRequest) -> tuple[credentials.Session, Viewer]:
    key = request.session.session_key
    credential = credentials.Session(key or "")
    viewer = credentials.viewer(credential, clock.now()) if key else None
    if viewer is None:
        raise _nobody()
    return credential, viewer


def _token(request: HttpRequest) -> AppToken:
    """The token of the request. Raises Answer, the same for every reason that it is not good."""
    header, now = request.headers.get("Authorization", ""), clock.now()
    token = tokens.find(header[len(BEARER) :], now) if header.lower().startswith(BEARER) else None
    if token is None:
        raise _nobody()
    tokens.note_use(token, address_of(request), now)
    if not token.app.enabled:
        raise Answer(403, "APP_DISABLED", "This app has been disabled.")
    if credentials.READ not in token.scopes:
        raise Answer(403, "SCOPE_MISSING", f"This token lacks the scope {credentials.READ}.")
    return token


def _body(request: HttpRequest, known: set[str]) -> dict[str, Any]:
    body = request.body
    if len(body) > BODY_BYTES:
        raise Answer(413, "TOO_LARGE", f"The body has at most {BODY_BYTES} bytes.")
    try:
        given = json.loads(body) if body else {}
    except (ValueError, RecursionError):
        raise Answer(400, "MALFORMED_JSON", "Expected a JSON object.") from None
    if not isinstance(given, dict):
        raise Answer(400, "MALFORMED_JSON", "Expected a JSON object.")
    if not all_plain(given):
        raise Answer(400, "INVALID", "Expected text without NUL and without halves of characters.")
    for name in given:
        if name not in known:
            raise Answer(400, "INVALID", f"{name[:60]}: unknown field.")
    return given


def _topics(given: dict[str, Any], viewer: Viewer) -> list[str]:
    """What the ticket is for; each must be one that its holder may hear. Empty: whatever that may be."""
    names = given.get("topics", [])
    if not isinstance(names, list) or len(names) > tickets.MOST_TOPICS:
        raise Answer(400, "INVALID", f"topics: expected a list of at most {tickets.MOST_TOPICS}.")
    wanted = [topics.parse(name) for name in names]
    for topic in wanted:
        if viewer.audience(topic) is None:
            raise _not_for_you(topic.kind)
    return [topic.name for topic in wanted]
