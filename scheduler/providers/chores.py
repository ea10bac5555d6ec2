"""What a scheduler looks after besides due slots. A chore that fails is said, tried again later, and stops nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

import structlog
from celery.utils.imports import symbol_by_name
from django.apps import apps

from jobsplatform.kernel import clock, config, db
from scheduler import backfill, cursors, overdue, pauses, planner, prune, sync

log = structlog.get_logger("jobsplatform.scheduler")

FIRST_RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 60.0
PRUNE_SECONDS = 60.0
PRUNE_BATCH = 500
WATCH_SECONDS = 30.0
FOLLOWER = "scheduler.export_rows:Follower"  # by name: it cannot be loaded where that app is not installed


@dataclass
class Chore:
    """One thing to be done every ``every()`` seconds; None: once, when it has succeeded. ``work`` says whether there
    is more of it to do at once."""

    name: str
    work: Callable[[datetime], bool]
    every: Callable[[], float | None]
    due_at: float | None = float("-inf")
    failures: int = 0

    def done(self, at: float, *, more: bool) -> None:
        seconds = self.every()
        self.failures = 0
        self.due_at = at if more else None if seconds is None else at + seconds

    def failed(self, at: float) -> float:
        """Note a failure; the seconds until the next try."""
        pause = min(LONGEST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** min(self.failures, 10))
        self.failures += 1
        self.due_at = at + pause
        return pause


class Chores:
    """Does what is due of them, each apart from the others."""

    def __init__(self, chores: Iterable[Chore]) -> None:
        self._chores = tuple(chores)

    def round(self, now: datetime) -> bool:
        """Do what is due; whether there is more to be done at once."""
        at, more = clock.monotonic(), False
        for chore in self._chores:
            if chore.due_at is not None and chore.due_at <= at:
                more = self._do(chore, now, at) or more
        return more

    def _do(self, chore: Chore, now: datetime, at: float) -> bool:
        try:
            more = chore.work(now)
        except Exception as error:
            pause = chore.failed(at)
            log.error(
                "scheduler.chore_failed",
                text=f"{chore.name} failed, again in {pause:g} s: {type(error).__name__}: {error}",
                chore=chore.name,
                exc_info=error if chore.failures == 1 else None,
            )
            db.close_broken()
            return False
        chore.done(at, more=more)
        return more


def synced() -> Chore:
    """Bring the schedules of this process's code into the rows, once."""

    def work(now: datetime) -> bool:
        result = sync.sync(now, sync.CODE)
        for fault in result.faults:
            log.error("scheduler.sync", text=f"a schedule in code is not taken over: {fault}")
        return False

    return Chore("sync", work, lambda: None)


def all_of_them() -> Chores:
    """What a scheduler process does; a worker that sweeps leaves it to others."""
    scheduler = config.get().scheduler
    exported = [_exported_rows()] if apps.is_installed("django_celery_beat") else []
    return Chores(
        [
            synced(),
            *exported,
            Chore("pauses", _lift_pauses, lambda: scheduler.idle_sleep_seconds),
            Chore("backfills", _backfill, lambda: scheduler.idle_sleep_seconds),
            Chore("edits", _edits, lambda: scheduler.poll_seconds),
            Chore("retention", _prune, lambda: PRUNE_SECONDS),
            Chore("overdue", _watch, lambda: WATCH_SECONDS),
        ]
    )


def _exported_rows() -> Chore:
    follower = symbol_by_name(FOLLOWER)()
    return Chore("exported rows", follower.follow, lambda: config.get().scheduler.poll_seconds)


def _lift_pauses(now: datetime) -> bool:
    pauses.lift_expired(now)
    return False


def _backfill(now: datetime) -> bool:
    return bool(backfill.step(now))


def _edits(now: datetime) -> bool:
    planner.edited_outside(now)
    cursors.ensure_all(now)
    return False


def _prune(now: datetime) -> bool:
    return prune.prune(now, batch=PRUNE_BATCH) >= PRUNE_BATCH


def _watch(now: datetime) -> bool:
    overdue.watch(now)
    return False
