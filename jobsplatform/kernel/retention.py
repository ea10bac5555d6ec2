"""What the kernel forgets: ended processes, old audit events, locks that ran out."""

from __future__ import annotations

from datetime import datetime, timedelta

from jobsplatform.kernel import audit, config, processes
from jobsplatform.kernel.locks import DatabaseLocks

KEEP_LOCKS = timedelta(days=1)


def prune(now: datetime, batch: int = 1000) -> int:
    """One round: at most ``batch`` audit events, and the few rows of the rest; how many were removed."""
    keep_audit = timedelta(days=config.get().audit_retention_days)
    removed = audit.purge(now - keep_audit, batch)
    return removed + processes.prune(now) + DatabaseLocks().prune(now - KEEP_LOCKS)
