"""Bindings of job types to sidecars: the rows, and the registry of this process kept in step with them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import Count, F, Max, Sum

from jobsplatform.kernel import audit, clock
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.db import after_commit
from jobsplatform.kernel.errors import DuplicateHandler, InvalidInput, PlatformError, UnknownName
from tasks import hints, registry
from tasks.bus.proxy import BusProxyHandler, proxy_of
from tasks.models import HandlerBinding

logger = logging.getLogger("jobsplatform.bus")

LOOK_SECONDS = 1.0
"""Within this time every process knows of a change."""

MISS_SECONDS = 0.05
"""A name that nobody knows is looked for anew, but no more often than this."""

MOST = 1000
"""Types that one app may bind."""


class Watch:
    """Looks whether the rows have changed, with one small query, when the registry is asked and some time has passed.

    Quiet where it cannot look: in an event loop, before the tables are made, while the database is away.
    """

    def __init__(self) -> None:
        self._looked_at = float("-inf")
        self._looking = threading.Lock()

    def __call__(self, missed: bool) -> None:
        at = clock.monotonic()
        if at - self._looked_at < (MISS_SECONDS if missed else LOOK_SECONDS) or _in_event_loop():
            return
        if not self._looking.acquire(blocking=False):
            return
        try:
            self._looked_at = at
            refresh()
        except DatabaseError as error:
            logger.debug("bindings cannot be read now: %s", error)
        finally:
            self._looking.release()


def install() -> None:
    """Let the registry of this process follow the rows."""
    registry.watch(Watch())


def refresh() -> None:
    """Read the bindings again if they have changed. Raises DatabaseError."""
    rows = HandlerBinding.objects.order_by()
    mark = tuple(rows.aggregate(n=Count("*"), at=Max("updated_at"), revisions=Sum("revision")).values())
    if mark == registry.bound_mark():
        return
    known = registry.bound_mark() is not None
    if known or mark[0]:
        registry.bind(_read(), mark)


def _read() -> dict[str, BusProxyHandler]:
    found: dict[str, BusProxyHandler] = {}
    for row in HandlerBinding.objects.all():
        try:
            handler = proxy_of(row)
        except PlatformError as error:
            logger.error("the binding of %s is unsound and left out: %s", row, error.message)
            continue
        found[handler.spec.key] = handler
    return found


def _in_event_loop() -> bool:
    return asyncio._get_running_loop() is not None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a sidecar asks to be bound to. ``spec``: as ``@job`` declares, with ``params_schema`` and
    ``continuation`` (whether it goes on after its children)."""

    job_type: str
    service: str
    method: str = ""
    transport: str = HandlerBinding.Transport.CLAIM
    url: str = ""
    spec: Mapping[str, Any] | None = None


@transaction.atomic
def register(app_id: str, wanted: Wanted, *, actor: Actor, now: datetime) -> HandlerBinding:
    """Bind a type of the app, or change what is bound; an approval lasts as long as the url does.

    Raises InvalidInput, and DuplicateHandler when the platform's own code declares that type.
    """
    _refuse_own(app_id, wanted.job_type)
    mine = HandlerBinding.objects.filter(app_id=app_id)
    row = mine.select_for_update().filter(job_type=wanted.job_type).first()
    if row is None:
        if mine.count() >= MOST:
            raise InvalidInput(f"An app may bind {MOST} job types; unregister some first.")
        blank = HandlerBinding(app_id=app_id, job_type=wanted.job_type, created_at=now, updated_at=now)
        # Of two who bind it for the first time at once, both do, one after the other.
        HandlerBinding.objects.bulk_create([blank], ignore_conflicts=True)
        row = mine.select_for_update().get(job_type=wanted.job_type)
    before = _facts(row) if row.revision else None
    row.service, row.method = wanted.service, wanted.method or wanted.job_type
    row.transport, row.url = wanted.transport, wanted.url
    row.spec = dict(wanted.spec or {})
    if row.url != row.approved_url:
        row.approved_url, row.approved_by, row.approved_at = "", "", None
    proxy_of(row)
    if before == _facts(row):
        return row
    row.updated_at, row.revision = now, row.revision + 1
    row.save()
    _changed("binding.register", row, before, _facts(row), actor)
    return row


@transaction.atomic
def unregister(app_id: str, job_type: str, *, actor: Actor) -> None:
    """Forget the binding; its jobs wait until somebody binds the type again. Raises UnknownName."""
    row = HandlerBinding.objects.select_for_update().filter(app_id=app_id, job_type=job_type).first()
    if row is None:
        known = HandlerBinding.objects.filter(app_id=app_id).values_list("job_type", flat=True)
        raise UnknownName("job type", job_type, known)
    _changed("binding.unregister", row, _facts(row), None, actor)
    row.delete()


@transaction.atomic
def approve(row_id: object, *, actor: Actor, now: datetime) -> HandlerBinding:
    """Let the platform call the url that the sidecar has named. Raises InvalidInput when it has named none."""
    row = HandlerBinding.objects.select_for_update().get(pk=row_id)
    if not row.url:
        raise InvalidInput(f"{row} names no url to approve.")
    before = _facts(row)
    row.approved_url, row.approved_by, row.approved_at = row.url, actor.name[:150], now
    return _save(row, "binding.approve", before, actor, now)


@transaction.atomic
def set_enabled(row_id: object, enabled: bool, *, actor: Actor, now: datetime) -> HandlerBinding:
    """Switch a binding on or off; while it is off, its jobs wait."""
    row = HandlerBinding.objects.select_for_update().get(pk=row_id)
    before = _facts(row)
    row.enabled = enabled
    return _save(row, "binding.enable" if enabled else "binding.disable", before, actor, now)


def _save(row: HandlerBinding, action: str, before: Any, actor: Actor, now: datetime) -> HandlerBinding:
    row.updated_at, row.revision = now, F("revision") + 1
    row.save()
    row.refresh_from_db()
    _changed(action, row, before, _facts(row), actor)
    return row


def _changed(action: str, row: HandlerBinding, before: Any, after: Any, actor: Actor) -> None:
    audit.record(action, "binding", str(row), actor=actor, before=before, after=after, app_id=row.app_id)
    after_commit(refresh)
    hints.wake()


def _facts(row: HandlerBinding) -> dict[str, Any]:
    names = ("service", "method", "transport", "url", "approved_url", "enabled", "spec")
    return {name: getattr(row, name) for name in names}


def _refuse_own(app_id: str, job_type: str) -> None:
    own = {handler.spec.key: handler for handler in registry.declared()}.get(f"{app_id}:{job_type}")
    if own is not None:
        raise DuplicateHandler(
            f"The job type {registry.shown(own.spec.key)!r} is declared by the platform's own code; "
            "choose another name."
        )


def view(row: HandlerBinding) -> dict[str, Any]:
    """The binding as the bus and the command line show it."""
    return {
        "app_id": row.app_id,
        "job_type": row.job_type,
        "service": row.service,
        "method": row.method,
        "transport": row.transport,
        "url": row.url or None,
        "approved": bool(row.url) and row.url == row.approved_url,
        "enabled": row.enabled,
        "revision": row.revision,
        "queue": proxy_of(row).spec.queue,
        "spec": row.spec,
    }
