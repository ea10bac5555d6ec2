"""``maintenance.archive_slots``: write decisions about slots to compressed files."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet

from jobsplatform.kernel import clock
from scheduler.models import ScheduleTriggerLog
from tasks.builtin.maintenance import archive_file
from tasks.context import JobContext
from tasks.handlers import job
from tasks.outcomes import Outcome

ROWS_A_FILE = 50_000
SETTLED = timedelta(minutes=10)
"""Younger ones wait: a decision of an earlier time may not be committed yet."""
_TIME = "%Y%m%dT%H%M%S%fZ"
_NAME = re.compile(r"slots-(\d{8}T\d{12}Z)-([0-9a-f]{32})\.jsonl\.gz")
_FIELDS = tuple(field.attname for field in ScheduleTriggerLog._meta.concrete_fields)


@job(
    "maintenance.archive_slots",
    description="Write decisions about slots to DATA_DIR/archive (gzip, a JSON object a line); removes nothing.",
    exclusive=True,
)
def archive_slots(context: JobContext) -> Outcome:
    """Archive the decisions made since the last archive, up to ten minutes ago, in their order; each once.

    Retention removes them by itself: run this more often than the shortest time that decisions are kept. How far it
    is stands in the name of the newest file.
    """
    until = clock.now() - SETTLED
    folder = archive_file.folder()
    files: list[str] = []
    archived = 0
    while True:
        context.check_cancel()
        found = list(_rows(until).values(*_FIELDS)[:ROWS_A_FILE])
        if not found:
            return Outcome({"archived": archived, "files": files, "folder": str(folder)}, count=archived)
        name, written = archive_file.write("slots", found, _named)
        archived += written
        files = [*files, name][-100:]
        context.progress(archived, None, name)


def _rows(until: datetime) -> QuerySet[ScheduleTriggerLog]:
    """What is to be written next, in the order in which it was decided."""
    rows = ScheduleTriggerLog.objects.filter(triggered_at__lte=until).order_by("triggered_at", "id")
    reached = _reached()
    if reached is None:
        return rows
    at, row_id = reached
    return rows.filter(Q(triggered_at__gt=at) | Q(triggered_at=at, id__gt=row_id), triggered_at__gte=at)


def _reached() -> tuple[datetime, UUID] | None:
    """The last row of the newest file."""
    names = (_NAME.fullmatch(path.name) for path in archive_file.folder().iterdir())
    newest = max((match.groups() for match in names if match is not None), default=None)
    if newest is None:
        return None
    return datetime.strptime(newest[0], _TIME).replace(tzinfo=UTC), UUID(newest[1])


def _named(first: archive_file.Row, last: archive_file.Row) -> str:
    at: datetime = last["triggered_at"]
    return f"slots-{at.astimezone(UTC).strftime(_TIME)}-{last['id'].hex}"
