"""What the trigger log says of slots: the row of a slot, or the range of equal decisions that covers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from scheduler.models import ScheduleTriggerLog
from scheduler.states import ORIGIN_AUTO, Status


@dataclass(frozen=True, slots=True)
class Decided:
    """What is on record about a slot. ``auto``: its decision, maybe a range's; ``again``: runs of it by backfills."""

    auto: ScheduleTriggerLog | None
    again: tuple[ScheduleTriggerLog, ...] = ()

    @property
    def fired(self) -> list[ScheduleTriggerLog]:
        """All rows that made a job of this slot."""
        rows = self.again if self.auto is None else (self.auto, *self.again)
        return [row for row in rows if row.status == Status.FIRED]


def decision_of(schedule_id: str, tenant_id: str, slot: datetime) -> ScheduleTriggerLog | None:
    """The decision about one slot, or None when there is none on record. Two look-ups by index."""
    rows = ScheduleTriggerLog.objects.filter(schedule_id=schedule_id, tenant_id=tenant_id, origin=ORIGIN_AUTO)
    return (
        rows.filter(planned_at=slot).first()
        or rows.filter(planned_until__gte=slot, planned_at__lt=slot).order_by("planned_until").first()
    )


def decided(schedule_id: str, tenant_id: str, slots: Sequence[datetime]) -> dict[datetime, Decided]:
    """What is on record about each of ``slots``, in two queries."""
    if not slots:
        return {}
    first, last = min(slots), max(slots)
    ours = ScheduleTriggerLog.objects.filter(schedule_id=schedule_id, tenant_id=tenant_id)
    ranges = list(
        ours.filter(planned_until__gte=first, planned_at__lte=last, origin=ORIGIN_AUTO).order_by("planned_at")
    )
    wanted = set(slots)
    auto: dict[datetime, ScheduleTriggerLog] = {}
    again: dict[datetime, list[ScheduleTriggerLog]] = {}
    points = ours.filter(planned_at__gte=first, planned_at__lte=last, planned_until__isnull=True)
    for row in points.order_by("planned_at", "id"):
        if row.planned_at not in wanted:
            continue
        if row.origin == ORIGIN_AUTO:
            auto[row.planned_at] = row
        else:
            again.setdefault(row.planned_at, []).append(row)
    return {
        slot: Decided(auto.get(slot) or _covering(ranges, slot), tuple(again.get(slot, ()))) for slot in slots
    }


def again_of(schedule_id: str, tenant_id: str, slot: datetime) -> list[ScheduleTriggerLog]:
    """Runs of a slot besides its decision, oldest first."""
    rows = ScheduleTriggerLog.objects.filter(schedule_id=schedule_id, tenant_id=tenant_id, planned_at=slot)
    return list(rows.exclude(origin=ORIGIN_AUTO).order_by("id"))


def _covering(ranges: Sequence[ScheduleTriggerLog], slot: datetime) -> ScheduleTriggerLog | None:
    return next(
        (r for r in ranges if r.planned_at and r.planned_until and r.planned_at <= slot <= r.planned_until),
        None,
    )
