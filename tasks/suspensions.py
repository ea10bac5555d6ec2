"""What is suspended, and how fast what was suspended may start again. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import F, Q

from jobsplatform.kernel import config
from jobsplatform.kernel.models import App, Tenant
from jobsplatform.kernel.prepared import prepared_cursor
from tasks.models import Suspension


def matches(scope: str, target: str, queue: str, handler_key: str) -> bool:
    """Whether a suspension of ``scope`` and ``target`` concerns jobs of this queue and handler key."""
    if scope == Suspension.Scope.ALL:
        return True
    if scope == Suspension.Scope.QUEUE:
        return target == queue
    if scope == Suspension.Scope.TYPE:
        return target == handler_key
    return handler_key.startswith(f"{target}:")


@dataclass(slots=True)
class Ramp:
    """A lifted suspension whose jobs are let go a few at a time. ``room``: starts left for now."""

    row: Suspension
    room: int
    used: int = 0


@dataclass(slots=True)
class Gate:
    """The suspensions in force at one instant, for one dispatch round."""

    open: Sequence[Suspension]
    ramps: Sequence[Ramp]
    disabled_apps: frozenset[str]
    asleep: frozenset[str] = frozenset()
    """Tenants that are not active."""

    def blocker(self, queue: str, handler_key: str) -> Suspension | None:
        """The suspension that stops this queue and type, if any."""
        return next((s for s in self.open if matches(s.scope, s.target, queue, handler_key)), None)

    def closed(self, queue: str, handler_key: str) -> bool:
        """Whether nothing of this queue and type may start now."""
        return (
            handler_key.partition(":")[0] in self.disabled_apps
            or self.blocker(queue, handler_key) is not None
        )

    def _ramps(self, queue: str, handler_key: str) -> list[Ramp]:
        return [r for r in self.ramps if matches(r.row.scope, r.row.target, queue, handler_key)]

    def is_throttled(self, queue: str, handler_key: str) -> bool:
        """Whether its starts are let go one by one after a resume."""
        return bool(self._ramps(queue, handler_key))

    def has_room(self, queue: str, handler_key: str) -> bool:
        """Whether a throttled resume lets one more start."""
        return all(r.used < r.room for r in self._ramps(queue, handler_key))

    def take(self, queue: str, handler_key: str) -> None:
        """One start of this queue and type is given."""
        for ramp in self._ramps(queue, handler_key):
            ramp.used += 1

    def save(self) -> None:
        """Write down what the throttled resumes have let go."""
        for ramp in self.ramps:
            if ramp.used:
                Suspension.objects.filter(id=ramp.row.id).update(released=F("released") + ramp.used)


def in_force(now: datetime) -> list[Suspension]:
    """Open suspensions that have not expired."""
    rows = Suspension.objects.filter(lifted_at__isnull=True)
    return list(rows.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now)))


_EXCEPTIONS = """
SELECT EXISTS (SELECT 1 FROM tasks_suspension WHERE lifted_at IS NULL OR lifted_at > %s),
    EXISTS (SELECT 1 FROM kernel_app WHERE NOT enabled),
    EXISTS (SELECT 1 FROM kernel_tenant WHERE state <> 'active')
"""


def gate(now: datetime) -> Gate:
    """Read the suspensions for one round. Call inside its transaction, after taking the queue's lock row."""
    since = now - timedelta(seconds=config.get().tasks.resume_ramp_seconds)
    # Most rounds of most platforms: nothing is switched off, and one statement says so.
    with prepared_cursor(connection) as cursor:
        cursor.execute(_EXCEPTIONS, [connection.ops.adapt_datetimefield_value(since)])
        suspended, disabled, asleep = cursor.fetchone()
    open_ones, ramps = _suspensions(now, since) if suspended else ([], [])
    apps = App.objects.filter(enabled=False).values_list("app_id", flat=True) if disabled else ()
    tenants = (
        Tenant.objects.exclude(state=Tenant.State.ACTIVE).values_list("tenant_id", flat=True)
        if asleep
        else ()
    )
    return Gate(open_ones, ramps, frozenset(apps), frozenset(tenants))


def _suspensions(now: datetime, since: datetime) -> tuple[list[Suspension], list[Ramp]]:
    rows = list(Suspension.objects.filter(Q(lifted_at__isnull=True) | Q(lifted_at__gt=since)))
    open_ones = [r for r in rows if r.lifted_at is None and (r.expires_at is None or r.expires_at > now)]
    recent = [r.id for r in rows if r not in open_ones and (r.lifted_at or r.expires_at) > since]
    ramps = []
    for row in Suspension.objects.filter(id__in=recent).order_by("id").select_for_update() if recent else ():
        lifted = row.lifted_at or row.expires_at
        allowed = int((now - lifted).total_seconds() * config.get().tasks.resume_per_second) + 1
        ramps.append(Ramp(row, room=max(0, allowed - row.released)))
    return open_ones, ramps


def app_disabled(app_id: str) -> bool:
    """Whether the app is switched off."""
    return App.objects.filter(app_id=app_id, enabled=False).exists()
