"""Edits of a schedule's row that nobody told us of: by SQL, a bulk update, a data migration."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F

from jobsplatform.kernel import events
from jobsplatform.kernel.db import retry_deadlocks
from scheduler import cursors, faults
from scheduler.events import ScheduleChanged
from scheduler.models import Schedule, ScheduleState
from scheduler.rules import EDITED_OUTSIDE, RULE

logger = logging.getLogger("jobsplatform.scheduler")

BATCH = 200
OUTSIDE = "outside"


def adopt_all(now: datetime, batch: int = BATCH) -> int:
    """Find rows that were edited outside, and have their new rule count from ``now`` on; how many there were.

    Slots before that never fire by the new rule. Costs the same however many schedules are stored.
    """
    adopted = 0
    while ids := list(
        Schedule.objects.filter(EDITED_OUTSIDE).order_by("id").values_list("pk", flat=True)[:batch]
    ):
        adopted += _adopt_each(ids, now)
        if len(ids) < batch:
            break
    return adopted


def _adopt_each(ids: Sequence[str], now: datetime) -> int:
    """As ``_adopt``; a row that cannot be taken up is told, left out until it is changed again, and stops no other."""
    try:
        return _adopt(ids, now)
    except (InterfaceError, OperationalError):
        raise  # of the database, not of a row
    except Exception as error:
        if len(ids) > 1:
            middle = len(ids) // 2
            return _adopt_each(ids[:middle], now) + _adopt_each(ids[middle:], now)
        logger.error("schedule %s was edited outside and cannot be read", ids[0], exc_info=error)
        with transaction.atomic():
            cursors.applied(ids)
            faults.note({ids[0]: faults.shown(error)}, now)
        return 0


@retry_deadlocks
@transaction.atomic
def _adopt(ids: Collection[str], now: datetime) -> int:
    rows = ScheduleState.objects.filter(schedule_id__in=ids).order_by("id").select_for_update()
    list(rows.values_list("pk", flat=True))
    adopted = adopt(ids, now)
    cursors.wake(ids, now)
    return adopted


def adopt(ids: Collection[str], now: datetime) -> int:
    """``adopt_all`` for these rows, whose states the caller has locked and looks at himself."""
    rows = Schedule.objects.filter(EDITED_OUTSIDE, pk__in=ids)
    found = list(rows.order_by("pk").select_for_update().values_list("pk", "applied"))
    changed = [pk for pk, applied in found if applied]
    Schedule.objects.filter(pk__in=changed).update(
        applied=RULE, revision=F("revision") + 1, edited_at=now, updated_at=now
    )
    # A row that no rule was ever noted of is a new one, and not edited.
    cursors.applied(pk for pk, applied in found if not applied)
    for schedule in Schedule.objects.filter(pk__in=[pk for pk, _ in found]).order_by("pk"):
        cursors.ensure(schedule, now)
        if schedule.pk in changed:
            events.emit(
                ScheduleChanged(schedule.pk, "updated", OUTSIDE, revision=schedule.revision, source=OUTSIDE)
            )
    return len(found)
