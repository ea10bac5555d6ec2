"""``maintenance.archive_logs``: write old audit events to compressed files, then remove them."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from django.core.serializers.json import DjangoJSONEncoder
from pydantic import Field

from jobsplatform.kernel import audit, clock, config
from jobsplatform.kernel.models import AuditEvent
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
    folder = config.get().data_dir / "archive"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    cutoff = now - timedelta(days=days)
    files: list[str] = []
    archived = 0
    while True:
        context.check_cancel()
        end = _end_of_file(cutoff)
        if end is None:
            return Outcome({"archived": archived, "files": files, "folder": str(folder)}, count=archived)
        rows = AuditEvent.objects.filter(at__lt=end).order_by("at", "pk")
        name, written = _write(folder, rows.values(*_FIELDS).iterator(2_000))
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


def _write(folder: Path, rows: Iterable[dict[str, Any]]) -> tuple[str, int]:
    """Write a file that is either whole or not there; its name tells the first and last event."""
    part = folder / "audit.part"
    first: dict[str, Any] | None = None
    last: dict[str, Any] = {}
    count = 0
    with open(part, "wb") as raw:
        os.fchmod(raw.fileno(), 0o600)
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
            for row in rows:
                # ASCII alone: some readers take U+2028 inside a text for the end of a line.
                packed.write(json.dumps(row, cls=DjangoJSONEncoder).encode("ascii") + b"\n")
                first, last, count = first or row, row, count + 1
        raw.flush()
        os.fsync(raw.fileno())
    name = f"audit-{last['at']:%Y%m%d}-{first['id'] if first else 0}-{last['id']}.jsonl.gz"
    part.replace(folder / name)
    _settle(folder)
    return name, count


def _settle(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
