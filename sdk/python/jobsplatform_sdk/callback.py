"""Jobs that the platform brings by itself: it calls the sidecar over HTTP, signed, and the answer is the result, or
that the result will be told later."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from jobsplatform_sdk import clock, signing
from jobsplatform_sdk.run_shapes import Assignment
from jobsplatform_sdk.runs import Run
from jobsplatform_sdk.sidecar import Sidecar

TOLD_OVER_THE_BUS = frozenset({"cancelled", "interrupted"})
"""What these mean is decided by the row, as it stands then."""

logger = logging.getLogger("jobsplatform_sdk.sidecar")

MAX_BYTES = 4 * 1024 * 1024
ANSWER_SECONDS = 5.0
"""For so long an answer is held back for the result; the platform waits for ten."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_PHRASES = {200: "OK", 202: "Accepted", 400: "Bad Request", 401: "Unauthorized", 405: "Method Not Allowed",
            413: "Content Too Large", 503: "Service Unavailable"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """What the call is answered with."""

    status: int
    body: Mapping[str, Any]

    @property
    def encoded(self) -> bytes:
        return json.dumps(self.body).encode()


class Callback:
    """The sidecar's door, as a WSGI app (``app``) and as an ASGI app (``app.asgi``).

    ``secrets``: what calls are signed with; those that the platform gave at registration are known besides.
    ``answer_seconds``: how long a call waits for its result before the answer is "later".
    """

    def __init__(
        self, sidecar: Sidecar, *, secrets: Iterable[str] = (), answer_seconds: float = ANSWER_SECONDS
    ) -> None:
        self._sidecar = sidecar
        self._secrets = frozenset(secrets)
        self._answer_seconds = answer_seconds

    def answer(self, method: str, signature: str, body: bytes) -> Answer:
        """The answer to one call; takes up to ``answer_seconds``."""
        if method != "POST":
            return Answer(405, {"error": "POST is asked for"})
        if not signing.is_signed(signature, body, self._secrets | self._sidecar.secrets, clock.unix()):
            return Answer(401, {"error": "not signed by the platform, or too long ago"})
        try:
            assignment = read_assignment(json.loads(body))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return Answer(400, {"error": f"no job in it: {type(error).__name__}"})
        if self._sidecar.stopping:
            return Answer(503, {"error": "stopping"})
        run = CalledRun(self._sidecar.make_run(assignment, leased=False))
        if not self._sidecar.crew.take(run.run):
            return Answer(202, {})  # brought twice; the first one tells its end
        answer = run.wait(self._answer_seconds)
        if answer.status == 202:
            run.run.keep_for(self._sidecar.keep_seconds)
        return answer

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        """WSGI."""
        try:
            length = int(environ.get("CONTENT_LENGTH") or 0)
        except ValueError:
            length = -1
        if not 0 <= length <= MAX_BYTES:
            answer = Answer(413, {"error": f"at most {MAX_BYTES} bytes"})
        else:
            name = f"HTTP_{signing.HEADER.upper().replace('-', '_')}"
            body = environ["wsgi.input"].read(length)
            answer = self.answer(environ["REQUEST_METHOD"], environ.get(name, ""), body)
        encoded = answer.encoded
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(encoded)))]
        start_response(f"{answer.status} {_PHRASES[answer.status]}", headers)
        return [encoded]

    async def asgi(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more and len(body) <= MAX_BYTES:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        named = signing.HEADER.lower().encode()
        signature = next((value for name, value in scope["headers"] if name == named), b"")
        if len(body) > MAX_BYTES:
            answer = Answer(413, {"error": f"at most {MAX_BYTES} bytes"})
        else:
            answer = await asyncio.to_thread(self.answer, scope["method"], signature.decode("latin-1"), body)
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.encoded})


def read_assignment(given: Mapping[str, Any]) -> Assignment:
    """The run that a call brings: ``{job: {id, lease, …}, …}``."""
    job = given["job"]
    lease = given.get("lease", job.get("lease"))
    return Assignment.read({**given, "lease": lease, "attempt": given.get("attempt") or job.get("attempt")})


class CalledRun:
    """A run whose end is the answer to its call, if it comes in time; else it is told over the bus."""

    def __init__(self, run: Run) -> None:
        self.run = run
        run.answer_with = self._offer
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._late = False
        self._ending: Mapping[str, Any] = {}

    def wait(self, seconds: float) -> Answer:
        """200 with the ending, or 202."""
        self._ended.wait(seconds)
        with self._lock:
            self._late = self._late or not self._ended.is_set()
            if self._late:
                return Answer(202, {})
        return Answer(200, self._ending)

    def _offer(self, ending: Mapping[str, Any]) -> bool:
        """Take the end for the answer; False: it must be told over the bus, and the call is let go."""
        with self._lock:
            plain = ending["kind"] not in TOLD_OVER_THE_BUS and not self.run.reason()
            self._late = self._late or not plain
            if self._late:
                self._ended.set()
                return False
            self._ending = ending
            self._ended.set()
            return True
