"""What may be asked of a pause; what cannot be is told in one line."""

from __future__ import annotations

from datetime import datetime

from jobsplatform.kernel.errors import InvalidInput, UnknownName
from jobsplatform.kernel.models import Tenant
from scheduler.errors import ScheduleArchived, ScheduleNotFound
from scheduler.models import REASON_LENGTH, Schedule, ScheduleState
from scheduler.states import PauseScope, ResumeRule
from tasks.requests import instant, text


def scope_of(value: str) -> PauseScope:
    """One of PauseScope. Raises UnknownName."""
    if value not in list(PauseScope):
        raise UnknownName("scope", str(value), list(PauseScope))
    return PauseScope(value)


def rule_of(value: str) -> ResumeRule:
    """One of ResumeRule. Raises UnknownName."""
    if value not in list(ResumeRule):
        raise UnknownName("resume rule", str(value), list(ResumeRule))
    return ResumeRule(value)


def target_of(scope: PauseScope, target: str) -> str:
    """What of the scope is meant, as text. Raises InvalidInput."""
    target = text(target, "target", 200)
    if scope == PauseScope.ALL and target:
        raise InvalidInput(f"Scope 'all' takes no target, got {target!r}.")
    if scope != PauseScope.ALL and not target:
        raise InvalidInput(f"Scope {str(scope)!r} needs a target: which {scope}?")
    return target


def known_target(scope: PauseScope, target: str) -> str:
    """``target_of``, of something that there is. Raises ScheduleNotFound, ScheduleArchived, UnknownName too."""
    target = target_of(scope, target)
    if scope == PauseScope.SCHEDULE:
        row = Schedule.objects.filter(id=target).only("archived_at").first()
        if row is None:
            raise ScheduleNotFound(target, Schedule.objects.values_list("id", flat=True)[:1000])
        if row.archived_at is not None:
            raise ScheduleArchived(f"Schedule {target!r} is archived: there is nothing to pause.")
    if scope == PauseScope.TENANT and not (
        Tenant.objects.filter(tenant_id=target).exists()
        or ScheduleState.objects.filter(tenant_id=target).exists()
    ):
        raise UnknownName("tenant", target, Tenant.objects.values_list("tenant_id", flat=True)[:1000])
    return target


def reason_of(reason: str) -> str:
    """A note in one line. Raises InvalidInput."""
    return text(" ".join(reason.split()) if isinstance(reason, str) else reason, "reason", REASON_LENGTH)


def expiry_of(expires_at: datetime | None, now: datetime) -> datetime | None:
    """An aware instant after ``now``, or None. Raises InvalidInput."""
    expires_at = instant(expires_at, "expires_at")
    if expires_at is not None and expires_at <= now:
        raise InvalidInput(f"expires_at: {expires_at.isoformat()} is not in the future.")
    return expires_at
