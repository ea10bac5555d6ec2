"""What an app may do in a minute, taken before a method runs."""

from __future__ import annotations

from typing import Any

from jobsplatform.kernel import quotas
from tasks.bus.calls import Call, Method
from tasks.bus.errors import rate_limited


def take_quota(call: Call, method: Method, given: Any) -> None:
    """Raises Refusal: RATE_LIMITED."""
    if method.quota is None:
        return
    own = call.caller.quotas
    per_minute = own.creates_per_minute if method.quota == "creates" else own.events_per_minute
    wait = quotas.take(method.quota, call.app_id, method.cost(given), per_minute)
    if wait > 0:
        raise rate_limited(f"{method.quota}_per_minute", quotas.retry_after(wait))
