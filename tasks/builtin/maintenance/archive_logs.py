"""``maintenance.archive_logs``: write old audit events to compressed files, then remove them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from jobsplatform.kernel import audit, clock, config
from jobsplatform.kernel.models import AuditEvent
from tasks.builtin.maintenance import archive_file
from tasks.context import JobContext
from tasks.handlers import job
from tasks.outcomes import Outcome

EVENTS_PER_FILE = 50_000
REMOVED_AT_ONCE = 1_000
LEAD_DAYS = 7
"""Retention removes events at their age by itself; the archive must have been there before."""
_FIELDS = tuple(field.attname for field in AuditEvent._meta.concrete_fields)


@job(
    "maintenance.archive_logs",
    description="Write old audit events to DATA_DIR/archive (gzip, a JSON object a line), then remove them.",
    public_params=("older_than_days",),
    exclusive=True,
)
def archive_logs(
    context: JobContext, older_than_days: Annotated[int, Field(ge=1, le=36_500)] | None = None
) -> Outcome:
    """Archive the audit events older than ``older_than_days``.

    The default is the audit retention less a week, so that a weekly run meets every event before retention
    removes it. A file is complete on disk before its events are removed; after a crash in between, the next
    run may write some of them a second time, and loses none.
    """
    now = clock.now()
    kept_days = config.get().audit_retention_days
    days = older_than_days or max(1, kept_days - LEAD_DAYS)
    folder = archive_file.folder()
    cutoff = now - timedelta(days=days)
    files: list[str] = []
    archived = 0
    while True:
        context.check_cancel()
        end = _end_of_file(cutoff)
        if end is None:
            return Outcome({"archived": archived, "files": files, "folder": str(folder)}, count=archived)
        rows = AuditEvent.objects.filter(at__lt=end).order_by("at", "pk")
        name, written = archive_file.write("audit", rows.values(*_FIELDS).iterator(2_000), _named)
        while audit.purge(end, REMOVED_AT_ONCE):
            pass  # not stopped in the middle: what is in a file must not be there again in the next
        archived += written
        files = [*files, name][-100:]
        context.progress(archived, None, name)


def _end_of_file(cutoff: datetime) -> datetime | None:
    """The instant before which the next file's events lie; None when there is nothing to archive.

    Events of one instant stay together, so that a file may be removed by its end alone.
    """
    old = AuditEvent.objects.filter(at__lt=cutoff).order_by("at")
    instants = list(old.values_list("at", flat=True)[: EVENTS_PER_FILE + 1])
    if len(instants) <= EVENTS_PER_FILE:
        return cutoff if instants else None
    if instants[-1] > instants[0]:
        return instants[-1]
    return old.filter(at__gt=instants[0]).values_list("at", flat=True).first() or cutoff


def _named(first: archive_file.Row, last: archive_file.Row) -> str:
    return f"audit-{last['at']:%Y%m%d}-{first['id']}-{last['id']}"
