"""Names that exist: for filters, and for forms that ask for one. Read by hops over an index, and remembered a while."""

from __future__ import annotations

from django.db.models import Max, Min

from jobsplatform.kernel import clock, config
from tasks import registry
from tasks.models import Job

MOST = 300
KEPT_SECONDS = 30.0

_cached: tuple[float, list[str]] | None = None


def handler_keys() -> list[str]:
    """Every handler key with a handler here or a job in the database, sorted (at most ``MOST`` of the latter)."""
    global _cached
    if _cached is None or not 0 <= clock.monotonic() - _cached[0] < KEPT_SECONDS:
        _cached = (clock.monotonic(), _stored_keys())
    return sorted({*_cached[1], *registry.keys()})


def forget() -> None:
    """Look anew at the next question."""
    global _cached
    _cached = None


def apps() -> list[str]:
    """App ids of the known handler keys; empty is the host."""
    return sorted({key.partition(":")[0] for key in handler_keys()})


def queues() -> list[str]:
    """Queues that are configured or that a known handler names."""
    named = {handler.spec.queue for handler in registry.all()}
    return sorted({*config.get().tasks.queues, *named})


def _stored_keys() -> list[str]:
    found: list[str] = []
    rows = Job.objects.order_by()
    key = rows.aggregate(first=Min("handler_key"))["first"]
    last = rows.aggregate(last=Max("handler_key"))["last"]
    while key is not None and len(found) < MOST:
        found.append(key)
        if key == last:
            break
        key = rows.filter(handler_key__gt=key).aggregate(first=Min("handler_key"))["first"]
    return found
