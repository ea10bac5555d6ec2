"""What a call may raise: one tree, with a class for each code that the bus knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class BusError(Exception):
    """A call did not do what it was asked. ``code`` is stable; ``message`` says what to do.

    ``status`` is the HTTP status (0 when there was no answer), ``details`` the facts, ``retry_after`` the seconds
    after which the platform wants to be asked again, or None.
    """

    code: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        status: int = 0,
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = dict(details or {})
        self.status = status
        self.retry_after = retry_after
        if code:
            self.code = code  # type: ignore[misc]  # a code that this release has no class for

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" if self.code else self.message


class Refused(BusError):
    """The call was understood and refused; the same call again is refused again."""


class Unauthenticated(Refused):
    """The token is missing, unknown, expired or revoked."""

    code = "UNAUTHENTICATED"


class ScopeMissing(Refused):
    """The token does not allow this method."""

    code = "SCOPE_MISSING"


class AppDisabled(Refused):
    """The token's app is switched off."""

    code = "APP_DISABLED"


class AppIdForbidden(Refused):
    """Params or data name an app; the token alone says whose job it is."""

    code = "APP_ID_FORBIDDEN"


class MethodUnknown(Refused):
    """The platform has no such method; it may be older than this package."""

    code = "METHOD_UNKNOWN"


class MethodNotAllowed(Refused):
    """Not a POST."""

    code = "METHOD_NOT_ALLOWED"


class MalformedJson(Refused):
    """The body is no JSON."""

    code = "MALFORMED_JSON"


class Invalid(Refused):
    """A field is wrong, missing or unknown; ``details["fields"]`` lists them."""

    code = "INVALID"


class TooLarge(Refused):
    """The body, or what it would store, is larger than allowed."""

    code = "TOO_LARGE"


class NotFound(Refused):
    """The app has no such job (or handler)."""

    code = "NOT_FOUND"


class UnknownHandler(Refused):
    """Nothing is known to run jobs of this type."""

    code = "UNKNOWN_HANDLER"


class ParamsInvalid(Refused):
    """The params do not fit the job type."""

    code = "PARAMS_INVALID"


class LeaseLost(Refused):
    """The run is no longer the job's: it was ended, cancelled or rescued. Nothing was written.

    ``state``: the job's state now, when the platform told it.
    """

    code = "LEASE_LOST"

    @property
    def state(self) -> str:
        return str(self.details.get("state") or "")


class StateConflict(Refused):
    """The job is in a state in which this cannot be done."""

    code = "STATE_CONFLICT"


class JobDuplicate(Refused):
    """An active job holds the dedupe key, and the type refuses a second one."""

    code = "JOB_DUPLICATE"


class IdempotencyConflict(Refused):
    """The idempotency key was used for another job type or other params."""

    code = "IDEMPOTENCY_CONFLICT"


class TenantForbidden(Refused):
    """The tenant's state does not allow it."""

    code = "TENANT_STATE_FORBIDDEN"


class NotNow(BusError):
    """Nothing was done, and the same call may succeed later."""


class RateLimited(NotNow):
    """The app's quota is used up for now."""

    code = "RATE_LIMITED"


class Unavailable(NotNow):
    """The platform cannot serve this for the moment."""

    code = "UNAVAILABLE"


class Unreachable(NotNow):
    """No connection could be made: the platform is down, or the address is wrong."""

    code = "UNREACHABLE"


class NoAnswer(BusError):
    """The call was sent and no answer came: nobody knows whether it was done."""

    code = "NO_ANSWER"


class Broken(BusError):
    """The answer is none of the bus: an error inside the platform, or something else answers at this address."""

    code = "INTERNAL"


def _classes(root: type[BusError]) -> dict[str, type[BusError]]:
    found = {root.code: root} if root.code else {}
    for inner in root.__subclasses__():
        found |= _classes(inner)
    return found


BY_CODE: Mapping[str, type[BusError]] = _classes(BusError)


def error_of(status: int, body: Any, retry_after: float | None) -> BusError:
    """The error that an answer with this status and (decoded) body means."""
    told = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(told, Mapping) or not isinstance(told.get("code"), str):
        return _unspoken(status, retry_after)
    code = told["code"]
    details = told.get("details")
    return BY_CODE.get(code, _root_of(status))(
        str(told.get("message") or code),
        code=code,
        status=status,
        details=details if isinstance(details, Mapping) else None,
        retry_after=retry_after,
    )


def _root_of(status: int) -> type[BusError]:
    if status in (429, 503):
        return NotNow
    return Refused if 400 <= status < 500 else Broken


def _unspoken(status: int, retry_after: float | None) -> BusError:
    """An answer that the bus has not written: a proxy's, mostly."""
    if status in (429, 503):
        return Unavailable(f"HTTP {status} from the platform's door.", status=status, retry_after=retry_after)
    if status in (502, 504):
        return NoAnswer(f"HTTP {status}: the door does not get through to the platform.", status=status)
    return Broken(
        f"HTTP {status} without an answer of the bus. Is the address that of the platform?", status=status
    )
