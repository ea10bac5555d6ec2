"""The one error tree.

Every error has a stable ``code``, the facts it was built from, a message that says what to do,
and the HTTP status that a web door answers with.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, ClassVar


class PlatformError(Exception):
    """Root of all errors that a user of the platform can meet."""

    code: ClassVar[str] = "PLATFORM_ERROR"
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts


def nearest(value: str, known: Iterable[str]) -> str | None:
    """The known name most like ``value``, or None when nothing is near."""
    found = difflib.get_close_matches(value, list(known), n=1, cutoff=0.5)
    return found[0] if found else None


def did_you_mean(value: str, known: Iterable[str]) -> str:
    """`` Did you mean 'x'?`` or, when nothing is near, a short list of what is known."""
    names = sorted(known)
    best = nearest(value, names)
    if best is not None:
        return f" Did you mean {best!r}?"
    if not names:
        return " None is known."
    shown = ", ".join(names[:10])
    return f" Known: {shown}{', …' if len(names) > 10 else ''}."


_SHOWN = 200
"""A name is shown up to this many characters: no stored one is much longer."""


# -- wrong use ---------------------------------------------------------------------------------------


class ConfigError(PlatformError):
    """The environment or a declaration is wrong; the message lists every fault."""

    code = "CONFIG_INVALID"


class InvalidInput(PlatformError):
    """A value from outside is wrong; nothing was stored."""

    code = "INVALID_INPUT"
    http_status = 400


class UnknownName(InvalidInput):
    """A name (job type, app, queue, state …) that nothing knows."""

    code = "UNKNOWN_NAME"
    http_status = 404

    def __init__(self, kind: str, value: str, known: Iterable[str] = ()) -> None:
        shown = value if len(value) <= _SHOWN else value[:_SHOWN] + "…"
        super().__init__(f"Unknown {kind} {shown!r}.{did_you_mean(value, known)}", kind=kind, value=value)


class ParamsInvalid(InvalidInput):
    """Params do not fit the handler's signature, or cannot be stored as JSON."""

    code = "PARAMS_INVALID"


class ParamsTooLarge(InvalidInput):
    """Params are larger than ``TASKS__PARAMS_MAX_BYTES``."""

    code = "PARAMS_TOO_LARGE"
    http_status = 413


class JobNotFound(PlatformError):
    """No such job: never made, rolled back, or removed by retention."""

    code = "JOB_NOT_FOUND"
    http_status = 404

    def __init__(self, job_id: object) -> None:
        super().__init__(
            f"No job {job_id}. It was never made, was rolled back, or its retention has passed.",
            job_id=str(job_id),
        )


class DuplicateHandler(ConfigError):
    """Two places register one (app, job type)."""

    code = "HANDLER_DUPLICATE"


class DuplicateJob(PlatformError):
    """Dedupe mode ``reject``: an active job holds the key."""

    code = "JOB_DUPLICATE"
    http_status = 409


class IdempotencyConflict(PlatformError):
    """The idempotency key was used for another job type or other params."""

    code = "IDEMPOTENCY_CONFLICT"
    http_status = 409


class IllegalMove(PlatformError):
    """The job is not in a state from which the asked move is legal; nothing changed."""

    code = "ILLEGAL_MOVE"
    http_status = 409


class TenantForbidden(PlatformError):
    """The tenant's state does not allow it."""

    code = "TENANT_STATE_FORBIDDEN"
    http_status = 403


# -- while running -----------------------------------------------------------------------------------


class StaleLease(PlatformError):
    """The writer no longer holds the run lease; nothing was written."""

    code = "STALE_LEASE"
    http_status = 409

    def __init__(self, job_id: object, lease: int) -> None:
        super().__init__(
            f"Lease {lease} of job {job_id} is no longer held: the run was ended, cancelled or rescued.",
            job_id=str(job_id),
            lease=lease,
        )


class CheckpointInTransaction(PlatformError):
    """SQLite: a checkpoint inside the handler's own transaction cannot be saved independently of it."""

    code = "CHECKPOINT_IN_TRANSACTION"
    http_status = 409


# -- unreachable -------------------------------------------------------------------------------------


class Unreachable(PlatformError):
    """A database, broker or lock store does not answer; says which, and what to look at."""

    code = "UNREACHABLE"
    http_status = 503


class LockUnavailable(Unreachable):
    """The lock store cannot be reached: neither "held" nor "free"."""

    code = "LOCK_UNAVAILABLE"
