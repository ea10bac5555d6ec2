"""Whose turn it is to tick, among schedulers of one kind. A lock keeps rivals quiet; it proves nothing.

Who has it ticks. Others stay quiet, but look whether slots are left lying: a holder that was killed or stopped must
not silence them for as long as its lock lives. When the store of locks is away nobody knows who has it: each waits
a moment of its own, so that a healthy holder goes first, and then goes on by the database's proof.
"""

from __future__ import annotations

import random
from datetime import timedelta
from enum import StrEnum

import structlog

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.errors import LockUnavailable
from jobsplatform.kernel.locks import Lease, LockProvider, get_provider

log = structlog.get_logger("jobsplatform.scheduler")

LEFT_LYING_SECONDS = 2.0
"""Slots that were due this long ago are taken by those whose turn it is not."""

UNKNOWN_SECONDS = (0.2, 1.0)
"""With the store of locks away: how long to let others go first."""

RENEW_SHARE = 1 / 3
SAID_EVERY_SECONDS = 60.0


class Standing(StrEnum):
    """What is known about the lock."""

    MINE = "mine"
    OTHERS = "others"
    UNKNOWN = "unknown"


class Turn:
    """One scheduler's claim to a lock. Not for several threads at once, except ``give_back``."""

    def __init__(self, key: str, owner: str = "", provider: LockProvider | None = None) -> None:
        self.key = key
        self.owner = owner
        self._given = provider
        self._lease: Lease | None = None
        self._taken_at = 0.0
        self._said_at: float | None = None

    @property
    def lease(self) -> Lease | None:
        """The lease that was got, if it may still be ours."""
        return self._lease

    def look(self) -> Standing:
        """Take the lock, keep it, or find it taken. Waits no longer than the store takes to answer."""
        ttl = config.get().scheduler.lock_ttl_seconds
        if self._lease is not None and clock.monotonic() - self._taken_at < ttl * RENEW_SHARE:
            return Standing.MINE
        try:
            return self._ask(ttl)
        except LockUnavailable as error:
            return self._unknown(error, ttl)

    def patience(self, standing: Standing) -> timedelta:
        """How long a slot must have been due before it is ours to look after."""
        if standing is Standing.MINE:
            return timedelta(0)
        if standing is Standing.OTHERS:
            return timedelta(seconds=LEFT_LYING_SECONDS)
        return timedelta(seconds=random.uniform(*UNKNOWN_SECONDS))

    def give_back(self) -> None:
        """Let the next one have it at once. A store that is away loses it by itself."""
        lease, self._lease = self._lease, None
        if lease is None:
            return
        try:
            self._provider.release(lease)
        except LockUnavailable as error:
            log.warning("scheduler.lock", text=f"{self.key} was not given back, it runs out: {error}")

    @property
    def _provider(self) -> LockProvider:
        return self._given or get_provider()

    def _ask(self, ttl: float) -> Standing:
        asked_at = clock.monotonic()
        if self._lease is not None and not self._provider.renew(self._lease, ttl):
            # We stood still for longer than it lived, or the store forgot it.
            self._lease = None
        if self._lease is None:
            self._lease = self._provider.acquire(self.key, ttl, self.owner)
        if self._lease is None:
            return Standing.OTHERS
        self._taken_at = asked_at
        return Standing.MINE

    def _unknown(self, error: LockUnavailable, ttl: float) -> Standing:
        at = clock.monotonic()
        if self._said_at is None or at - self._said_at >= SAID_EVERY_SECONDS:
            self._said_at = at
            log.warning("scheduler.lock", text=f"nobody can tell whose turn it is, all go on: {error}")
        if self._lease is not None and at - self._taken_at < ttl:
            return Standing.MINE  # nobody else can have taken it yet
        self._lease = None
        return Standing.UNKNOWN
