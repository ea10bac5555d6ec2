"""The pauses that concern a round: those in force, and those whose slots are still to be told as paused."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import Q

from scheduler.models import Pause
from scheduler.states import PauseScope, ResumeRule

FEW = 100


class Halts:
    """Pauses by what they concern. One whose time is over counts as lifted then, noted by anybody or not."""

    def __init__(self, rows: Collection[Pause], now: datetime) -> None:
        self._open: set[tuple[str, str]] = set()
        self._ended: dict[tuple[str, str], datetime] = {}
        for row in rows:
            place = (str(row.scope), row.target)
            end = row.lifted_at or row.expires_at
            if row.lifted_at is None and (end is None or end > now):
                self._open.add(place)
            elif row.resume_rule == ResumeRule.DROP and end is not None:
                self._ended[place] = max(end, self._ended.get(place, end))

    def is_open(self, schedule_id: str, tenant_id: str) -> bool:
        """Whether nothing of it fires now."""
        return any(place in self._open for place in _places(schedule_id, tenant_id))

    def dropped_until(self, schedule_id: str, tenant_id: str) -> datetime | None:
        """Slots up to then lay in a pause that has ended, and are dropped; None where there was none."""
        ends = [
            end for place in _places(schedule_id, tenant_id) if (end := self._ended.get(place)) is not None
        ]
        return max(ends, default=None)


def _places(schedule_id: str, tenant_id: str) -> tuple[tuple[str, str], ...]:
    wide = (str(PauseScope.ALL), "")
    own = (str(PauseScope.SCHEDULE), schedule_id)
    return (wide, own, (str(PauseScope.TENANT), tenant_id)) if tenant_id else (wide, own)


def read(schedule_ids: Collection[str], tenant_ids: Collection[str], since: datetime, now: datetime) -> Halts:
    """The pauses in force, or over only after ``since``, of these schedules and tenants, and of everything."""
    concerns = Q(scope=PauseScope.ALL) | Q(scope=PauseScope.SCHEDULE, target__in=sorted(schedule_ids))
    if tenants := sorted(set(tenant_ids) - {""}):
        concerns |= Q(scope=PauseScope.TENANT, target__in=tenants)
    lately = Pause.objects.filter(Q(lifted_at=None) | Q(lifted_at__gt=since))
    found = list(lately[: FEW + 1])  # mostly there are none, and to name all who are concerned costs more
    return Halts(found if len(found) <= FEW else list(lately.filter(concerns)), now)


def of_everything(now: datetime) -> tuple[bool, datetime | None]:
    """Whether everything is paused now, and until when (None: until somebody lifts it)."""
    row = Pause.objects.filter(scope=PauseScope.ALL, target="", lifted_at=None).first()
    if row is None or (row.expires_at is not None and row.expires_at <= now):
        return False, None
    return True, row.expires_at
