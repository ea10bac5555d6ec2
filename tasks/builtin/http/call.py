"""``http.call``: call a URL and keep a bounded part of the answer."""

from __future__ import annotations

import http.client
import json as json_module
import ssl
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import Field

from jobsplatform.kernel import clock, config
from tasks.builtin.http.addresses import check_host
from tasks.builtin.http.answer import Answer, kept, secrets_of, without
from tasks.builtin.http.connection import Connection, Deadline, resolve
from tasks.builtin.http.request import (
    HARMLESS,
    Target,
    checked_headers,
    checked_method,
    redirected,
    target_of,
)
from tasks.context import JobContext
from tasks.handlers import job
from tasks.outcomes import Fail, Outcome, Retry

MAX_RESPONSE_BYTES = 1024 * 1024
MAX_TIMEOUT_SECONDS = 600
LONGEST_RETRY_AFTER = 3600
_READ_BYTES = 64 * 1024
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_NOT_REPEATABLE = frozenset({"POST", "PATCH"})


@job(
    "http.call",
    description="Call a URL of an allowed host and check its status.",
    public_params=("method", "timeout_seconds", "expect_status", "max_redirects"),
    timeout=MAX_TIMEOUT_SECONDS + 60,
)
def call(
    context: JobContext,
    url: str,
    method: str = "GET",
    headers: dict[str, str] | None = None,
    json: Any = None,
    timeout_seconds: Annotated[float, Field(ge=0.1, le=MAX_TIMEOUT_SECONDS)] = 30.0,
    expect_status: list[int] | None = None,
    max_redirects: Annotated[int, Field(ge=0, le=20)] = 5,
    max_response_bytes: Annotated[int, Field(ge=0, le=MAX_RESPONSE_BYTES)] = 256 * 1024,
) -> Outcome:
    """Send one request and keep status, type and a bounded body.

    Succeeds on a status in ``expect_status`` (default: 200 to 299). Raises ``Retry`` after 429 or 503 with
    ``Retry-After``, ``Fail`` otherwise: retried for 408, 425, 429, 5xx and broken connections, not for other
    statuses nor for what the rules refuse. POST and PATCH carry ``Idempotency-Key``: the job's id, in
    each attempt the same. Header values reach neither log, error nor result.
    """
    method = checked_method(method)
    sent = checked_headers(headers or {})
    secrets = secrets_of(sent, HARMLESS)
    if method in _NOT_REPEATABLE and "idempotency-key" not in map(str.lower, sent):
        sent["Idempotency-Key"] = str(context.id)
    caller = Caller(Deadline(timeout_seconds, context.check_cancel), max_response_bytes)
    started = clock.monotonic()
    target = target_of(url)
    try:
        answer = caller.follow(target, method, sent, _body(json, method), max_redirects)
    except (OSError, http.client.HTTPException) as error:
        told = without(str(error) or type(error).__name__, secrets)[:300]
        raise Fail(f"{method} {target.shown} failed: {told}", retryable=_may_pass(error)) from None
    _check_status(method, answer, expect_status, secrets)
    result = {**kept(answer, secrets), "elapsed_ms": round((clock.monotonic() - started) * 1000)}
    return Outcome(result, count=len(answer.body), extra={"status": answer.status})


class Caller:
    """Sends a request and follows redirects, each of them checked like the first URL."""

    def __init__(
        self,
        deadline: Deadline,
        max_bytes: int,
        *,
        resolver: Callable[[str, int], list[str]] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.deadline = deadline
        self.max_bytes = max_bytes
        self.resolver = resolver or resolve
        self.tls = tls

    def follow(
        self, target: Target, method: str, headers: dict[str, str], body: bytes | None, max_redirects: int
    ) -> Answer:
        """The first answer that is no redirect. Raises ``Fail``, OSError or HTTPException."""
        if body is not None and "content-type" not in map(str.lower, headers):
            headers = {**headers, "Content-Type": "application/json"}
        for number in range(max_redirects + 1):
            status, location, answer = self._exchange(target, method, headers, body, number)
            if status not in _REDIRECTS or not location:
                return answer
            following = redirected(target, location)
            if following.origin != target.origin:
                headers = {name: value for name, value in headers.items() if name.lower() in HARMLESS}
            if status == 303 or (status in (301, 302) and method == "POST"):
                method, body = ("HEAD" if method == "HEAD" else "GET"), None
                headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
            target = following
        raise Fail(f"More than {max_redirects} redirects, the last to {target.shown}.", retryable=False)

    def _exchange(
        self, target: Target, method: str, headers: dict[str, str], body: bytes | None, redirects: int
    ) -> tuple[int, str, Answer]:
        settings = config.get().tasks
        check_host(target.host, target.port, target.scheme, settings.url_allow_hosts)
        connection = Connection(
            target,
            self.deadline,
            allow_private=settings.url_allow_private,
            resolver=self.resolver,
            tls=self.tls,
        )
        try:
            connection.request(method, target.path, body, {"User-Agent": "jobsplatform", **headers})
            with connection.getresponse() as response:
                content, truncated = self._read(response)
        finally:
            connection.close()
        answer = Answer(
            status=response.status,
            content_type=response.headers.get("Content-Type", ""),
            retry_after=response.headers.get("Retry-After", ""),
            body=content,
            truncated=truncated,
            url=target.shown,
            redirects=redirects,
        )
        return response.status, response.headers.get("Location", ""), answer

    def _read(self, response: http.client.HTTPResponse) -> tuple[bytes, bool]:
        found = bytearray()
        while len(found) <= self.max_bytes:
            part = response.read1(min(_READ_BYTES, self.max_bytes + 1 - len(found)))
            if not part:
                break
            found += part
        return bytes(found[: self.max_bytes]), len(found) > self.max_bytes


def _body(value: Any, method: str) -> bytes | None:
    if value is None:
        return None
    if method in ("GET", "HEAD"):
        raise Fail(f"json: a {method} request carries no body; use POST.", retryable=False)
    return json_module.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def _may_pass(error: Exception) -> bool:
    """May the same call work later? A certificate that does not fit will not."""
    return not isinstance(error, ssl.SSLCertVerificationError)


def _check_status(method: str, answer: Answer, expected: Sequence[int] | None, secrets: list[str]) -> None:
    if answer.status in expected if expected else 200 <= answer.status <= 299:
        return
    wanted = f"one of {', '.join(map(str, expected))}" if expected else "200 to 299"
    told = f"{method} {answer.url} answered {answer.status}, expected {wanted}."
    if answer.status in (429, 503) and answer.retry_after.isdigit():
        raise Retry(min(int(answer.retry_after[:9]), LONGEST_RETRY_AFTER), without(told, secrets))
    raise Fail(without(told, secrets), retryable=answer.status in _TRY_AGAIN)
