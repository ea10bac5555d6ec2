"""Every answer that is no success: a closed list of codes, and what becomes which."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import InterfaceError, OperationalError

from jobsplatform.kernel import errors

logger = logging.getLogger("jobsplatform.bus")

RETRY_SECONDS = 2
"""When to come again after an UNAVAILABLE."""


@dataclass(frozen=True, slots=True)
class Code:
    """The HTTP status of a code, and when it is answered."""

    status: int
    when: str


CODES = {
    "UNAUTHENTICATED": Code(
        401, "no token, or none that is good: missing, malformed, unknown, expired, revoked"
    ),
    "SCOPE_MISSING": Code(403, "the token may not do this; `details.scope` names what it lacks"),
    "APP_DISABLED": Code(403, "an operator has disabled the app"),
    "APP_ID_FORBIDDEN": Code(400, "the request names an app; whose it is, the token says"),
    "METHOD_UNKNOWN": Code(404, "there is no such method"),
    "METHOD_NOT_ALLOWED": Code(405, "the address takes another HTTP method, named in `Allow`"),
    "MALFORMED_JSON": Code(400, "the body is no JSON object in UTF-8"),
    "INVALID": Code(400, "fields are missing, unknown or wrong; `details.fields` lists them"),
    "TOO_LARGE": Code(413, "the body, or params or a result in it, is above its limit"),
    "NOT_FOUND": Code(404, "the app has no such job; another's is as if it were not"),
    "UNKNOWN_HANDLER": Code(404, "no handler of the app has this job type"),
    "PARAMS_INVALID": Code(400, "params do not fit the job type, or cannot be stored"),
    "LEASE_LOST": Code(409, "the run is not held under this lease any more; nothing was written"),
    "STATE_CONFLICT": Code(409, "in the state that it is in, this cannot be done to it"),
    "JOB_DUPLICATE": Code(409, "dedupe `reject`: an active job holds the key"),
    "IDEMPOTENCY_CONFLICT": Code(409, "the idempotency key made a job of another type or with other params"),
    "TENANT_STATE_FORBIDDEN": Code(403, "the tenant is archived"),
    "RATE_LIMITED": Code(429, "a quota of the app is used up; `Retry-After` says for how many seconds"),
    "UNAVAILABLE": Code(503, "a store does not answer; nothing was written; come again after `Retry-After`"),
    "INTERNAL": Code(500, "a fault of the platform; it is in its log under the request's id"),
}


@dataclass(eq=False)
class Refusal(Exception):
    """The answer to a request that is not fulfilled. ``code`` is one of ``CODES``; ``details`` are JSON values."""

    code: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        return CODES[self.code].status

    @property
    def body(self) -> dict[str, Any]:
        """The one shape of all errors."""
        return {"error": {"code": self.code, "message": self.message, "details": dict(self.details)}}


def not_found() -> Refusal:
    """The same for a job that is another app's and for one that is nobody's."""
    return Refusal("NOT_FOUND", "There is no such job.")


def unauthenticated() -> Refusal:
    """The same for every reason, so that nobody learns which."""
    return Refusal(
        "UNAUTHENTICATED",
        "Send a valid token of an app: Authorization: Bearer jp_…",
        headers={"WWW-Authenticate": 'Bearer realm="jobsplatform"'},
    )


def invalid(*faults: tuple[str, str]) -> Refusal:
    """Fields that are wrong: each by its path, and what is wrong with it."""
    listed = "; ".join(f"{name}: {problem}" for name, problem in faults[:5])
    return Refusal(
        "INVALID",
        f"{listed}{'; …' if len(faults) > 5 else ''}"[:1000],
        {"fields": [{"field": name, "problem": problem} for name, problem in faults]},
    )


def rate_limited(what: str, seconds: int) -> Refusal:
    """A quota is used up for so many seconds."""
    return Refusal(
        "RATE_LIMITED",
        f"The app's quota of {what} is used up; come again in {seconds} s.",
        {"quota": what, "retry_after": seconds},
        {"Retry-After": str(seconds)},
    )


_BY_TYPE: tuple[tuple[type[errors.PlatformError], str], ...] = (
    (errors.ParamsTooLarge, "TOO_LARGE"),
    (errors.ParamsInvalid, "PARAMS_INVALID"),
    (errors.DuplicateJob, "JOB_DUPLICATE"),
    (errors.IdempotencyConflict, "IDEMPOTENCY_CONFLICT"),
    (errors.TenantForbidden, "TENANT_STATE_FORBIDDEN"),
    (errors.StaleLease, "LEASE_LOST"),
    (errors.IllegalMove, "STATE_CONFLICT"),
)


def refusal_of(error: Exception) -> Refusal:
    """What is answered to ``error``; a fault of our own is logged and told to nobody else."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, errors.JobNotFound):
        return not_found()
    for kind, code in _BY_TYPE:
        if isinstance(error, kind):
            return Refusal(code, str(error.message))
    if isinstance(error, errors.InvalidInput):
        name, found, problem = error.message.partition(": ")
        known = found and name.replace("_", "").isalnum()
        return invalid((name, problem) if known else ("", error.message))
    if isinstance(error, (errors.Unreachable, OperationalError, InterfaceError)):
        logger.warning("the bus is unavailable: %s", error)
        return Refusal(
            "UNAVAILABLE",
            f"A store of the platform does not answer; come again in {RETRY_SECONDS} s.",
            headers={"Retry-After": str(RETRY_SECONDS)},
        )
    logger.error("a request over the bus failed", exc_info=error)
    return Refusal("INTERNAL", "A fault of the platform; its log has more under the id in X-Request-ID.")
