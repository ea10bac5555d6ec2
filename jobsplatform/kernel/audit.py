"""The audit trail: every change by an operator, a command, a sidecar or the system itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, ParamSpec

from django.db.backends.base.base import BaseDatabaseWrapper

from jobsplatform.kernel import clock, context
from jobsplatform.kernel.models import AuditEvent

ActorKind = Literal["user", "cli", "bus", "system"]

P = ParamSpec("P")

_FIELDS = [f for f in AuditEvent._meta.concrete_fields if not f.primary_key]
_INSERT = f"""INSERT INTO {AuditEvent._meta.db_table} ({", ".join(f'"{f.column}"' for f in _FIELDS)})
    VALUES ({", ".join(["%s"] * len(_FIELDS))})"""

ERROR_LIMIT = 2000
"""Characters of an error that are kept."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: a name, what kind of actor it is, and from where."""

    name: str
    kind: ActorKind
    ip: str = ""
    app_id: str = ""

    @classmethod
    def system(cls, name: str) -> Actor:
        """The platform itself, e.g. ``Actor.system("rescue")``."""
        return cls(name, "system")


def event(
    action: str,
    target_type: str,
    target_id: object,
    *,
    actor: Actor,
    before: Any = None,
    after: Any = None,
    outcome: Literal["ok", "error"] = "ok",
    error: str = "",
    tenant_id: str = "",
    app_id: str = "",
    at: datetime | None = None,
) -> AuditEvent:
    """One event, not written yet.

    ``before`` and ``after`` are JSON values. A text in ``error`` makes the outcome ``error``.
    """
    return AuditEvent(
        at=at or clock.now(),
        actor=actor.name[:200],
        actor_kind=actor.kind,
        action=action[:100],
        target_type=target_type[:50],
        target_id=str(target_id)[:255],
        tenant_id=tenant_id or context.current().tenant_id,
        app_id=app_id or actor.app_id,
        before=before,
        after=after,
        outcome="error" if error else outcome,
        error=error.replace("\x00", "")[:ERROR_LIMIT],
        request_id=context.current().request_id,
        ip=actor.ip[:45],
    )


def _written(make: Callable[P, AuditEvent]) -> Callable[P, AuditEvent]:
    def write(*given: P.args, **facts: P.kwargs) -> AuditEvent:
        made = make(*given, **facts)
        made.save()
        return made

    return write


record = _written(event)
"""Write one event, in the caller's transaction: the change and its record stand or fall together."""


def statement(unwritten: AuditEvent, connection: BaseDatabaseWrapper) -> tuple[str, list[Any]]:
    """An INSERT of an event and its values, to be part of the statement that makes the change."""
    return _INSERT, [f.get_db_prep_save(f.value_from_object(unwritten), connection) for f in _FIELDS]


def record_each(
    action: str,
    target_type: str,
    targets: Iterable[tuple[object, str, str, Any]],
    *,
    actor: Actor,
    after: Any,
    at: datetime,
) -> None:
    """``record`` for many targets of one change: each with its id, tenant, app, and what it was before."""
    here = context.current()
    AuditEvent.objects.bulk_create(
        [
            AuditEvent(
                at=at,
                actor=actor.name[:200],
                actor_kind=actor.kind,
                action=action[:100],
                target_type=target_type[:50],
                target_id=str(target_id)[:255],
                tenant_id=tenant_id or here.tenant_id,
                app_id=app_id or actor.app_id,
                before=before,
                after=after,
                request_id=here.request_id,
                ip=actor.ip[:45],
            )
            for target_id, tenant_id, app_id, before in targets
        ]
    )


def purge(before: datetime, limit: int = 1000) -> int:
    """Remove at most ``limit`` events older than ``before``, oldest first; how many were removed."""
    return AuditEvent.objects.purge(before, limit)
