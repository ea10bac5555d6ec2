"""Who runs the types that sidecars have bound: the live ones, and why nobody does. Reads only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from jobsplatform.kernel import config, processes
from jobsplatform.kernel.models import Process
from tasks import registry
from tasks.bus.proxy import BusProxyHandler
from tasks.models import HandlerBinding


def live_sidecars(now: datetime) -> list[Process]:
    """Live sidecars, and those of our own threads that bring jobs to sidecars."""
    live = processes.live(now, config.get().tasks.lease_seconds)
    return list(live.filter(role=Process.Role.SIDECAR).order_by("name"))


def binding_of(handler_key: str) -> BusProxyHandler | None:
    """The handler of a type that a sidecar has bound."""
    handler = registry.bound().get(handler_key)
    return handler if isinstance(handler, BusProxyHandler) else None


def nobody(handler: BusProxyHandler, queue: str, now: datetime) -> str | None:
    """Why no sidecar takes jobs of this type in this queue; None when one does."""
    shown, app = registry.shown(handler.spec.key), handler.spec.app_id
    if not handler.enabled:
        return f"An operator has switched the binding of {shown!r} off."
    if handler.transport == HandlerBinding.Transport.HTTP and not handler.approved:
        return f"No operator has approved the url of {shown!r} yet: it is not called before."
    live = live_sidecars(now)
    knowing = _knowing(live, handler)
    if not knowing:
        if handler.transport != HandlerBinding.Transport.CLAIM:
            return f"No live worker brings jobs of {shown!r} to their sidecar ({handler.transport})."
        return f"No live sidecar serves {shown!r}{_last_heard(app, now)}."
    serving = [each for each in knowing if queue in each.queues]
    if not serving:
        served = ", ".join(sorted({name for each in knowing for name in each.queues}))
        return f"No live sidecar of {shown!r} serves the queue {queue!r} (served: {served})."
    if all(each.stopping for each in serving):
        return f"Every sidecar that serves {shown!r} is stopping."
    return None


def _knowing(live: Iterable[Process], handler: BusProxyHandler) -> list[Process]:
    return [each for each in live if handler.spec.key in each.handlers]


def _last_heard(app_id: str, now: datetime) -> str:
    rows = Process.objects.filter(role=Process.Role.SIDECAR, app_id=app_id).order_by("-heartbeat_at")
    last = rows.values_list("name", "heartbeat_at").first()
    if last is None:
        return f" (no sidecar of the app {app_id!r} has been heard of for a day)"
    name, at = last
    return f" ({name} was heard of {max(0, int((now - at).total_seconds()))} s ago)"


def unserved(waiting: Sequence[tuple[str, str, int]], now: datetime) -> list[tuple[str, int, str]]:
    """Of jobs that wait, by (queue, handler key, how many): the bound types that nobody takes, as (type, how many,
    why)."""
    found = []
    for queue, key, count in waiting:
        handler = binding_of(key)
        why = nobody(handler, queue, now) if handler is not None else None
        if why is not None:
            found.append((registry.shown(key), count, why))
    return found
