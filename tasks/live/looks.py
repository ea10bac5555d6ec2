"""Each second a look at the rows themselves: a hint that was lost costs no more than that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Q

from jobsplatform.kernel import clock
from tasks.live import hints, reads, sources
from tasks.live.streams import Streams
from tasks.live.topics import Kind

if TYPE_CHECKING:
    from tasks.live.hub import Hub

EVERY_SECONDS = 1.0
SOONEST_SECONDS = 0.25
"""Asked for or not, no more often than this."""

BACK = timedelta(seconds=3)
"""A row may be committed so much later than it says it was written."""

FAR_BACK = timedelta(seconds=120)
FAR_EVERY = 15
"""Each so-manieth look goes far back, for transactions that stayed open long."""

MOST = 1000
"""When more has changed, whoever listens to many jobs is told to fetch a snapshot."""

VANISHED_EVERY = 5


class Looks:
    """``step`` waits for the next second, or until it is asked for, and looks."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._wake = asyncio.Event()
        self._looked_at = clock.now()
        self._count = 0
        self._flooded = False
        self._small: dict[str, dict[str, str]] = {}

    def now(self) -> None:
        """Look soon, rather than at the next second."""
        self._wake.set()

    async def step(self) -> None:
        """One look, when it is time."""
        soonest = EVERY_SECONDS if self._flooded else SOONEST_SECONDS
        await asyncio.sleep(soonest)
        try:
            async with asyncio.timeout(EVERY_SECONDS - soonest):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()
        if not self._hub.streams:
            return
        self._count += 1
        now = clock.now()
        since = min(now, self._looked_at) - (FAR_BACK if self._count % FAR_EVERY == 0 else BACK)
        await self._jobs(since)
        await self._single_jobs()
        await self._outside(since)
        await self._small_tables()
        await self._hub.rounds.tell_schedules(self._hub.streams.values(Kind.SCHEDULE))
        self._looked_at = now

    async def _jobs(self, since: datetime) -> None:
        among = interest(self._hub.streams)
        if among is None:
            self._flooded = False
            return
        changed = await self._hub.watch.ask(reads.changed_jobs, since, among, MOST + 1)
        self._flooded = len(changed) > MOST
        if self._flooded:
            self._hub.skip_wide()
            return
        self._want(changed)

    async def _single_jobs(self) -> None:
        ids = set(self._hub.followed())
        if self._count % VANISHED_EVERY == 0:
            ids |= {key[4:] for key in self._hub.rounds.known.shown_keys()}
        if not ids:
            return
        there = await self._hub.watch.ask(reads.revisions, [UUID(key) for key in ids])
        self._want([(job_id, revision) for job_id, revision in there.items()])
        self._hub.rounds.gone(ids - {str(job_id) for job_id in there})

    def _want(self, changed: list[tuple[UUID, int]]) -> None:
        known = self._hub.rounds.known
        for job_id, revision in changed:
            if not known.has(f"job:{job_id}", revision):
                self._hub.rounds.want(hints.JOB, str(job_id))

    async def _outside(self, since: datetime) -> None:
        streams, known, want = self._hub.streams, self._hub.rounds.known, self._hub.rounds.want
        if not (streams.values(Kind.USER) or streams.values(Kind.APP)):
            return
        for row, revision in await self._hub.watch.ask(reads.changed_external, since, MOST):
            if not known.has(f"external:{row}", revision):
                want(hints.EXTERNAL, str(row))
        for row in await self._hub.watch.ask(reads.new_app_events, since, MOST):
            if not known.has(f"event:{row}", 1):
                want(hints.EVENT, str(row))

    async def _small_tables(self) -> None:
        if not self._hub.streams.has("system"):
            self._small.clear()
            return
        await self._compare("apps", sources.apps, lambda _, changed: sources.apps_changed(changed))
        await self._compare(
            "suspensions", sources.suspensions, lambda standing, _: sources.suspensions_changed(standing)
        )

    async def _compare(
        self, name: str, read: Callable[[], dict[str, str]], event: Callable[[dict[str, str], set[str]], str]
    ) -> None:
        standing = await self._hub.watch.ask(read)
        before = self._small.get(name)
        self._small[name] = standing
        if before is None or before == standing:
            return
        changed = {key for key in before.keys() | standing.keys() if before.get(key) != standing.get(key)}
        told = event(standing, changed)
        for stream in self._hub.streams.of("system"):
            stream.add(told)
            self._hub.touched([stream])


def interest(streams: Streams) -> Q | None:
    """Which jobs belong to a topic of many jobs that somebody listens to; None: none do."""
    if streams.has("jobs"):
        return Q()
    fields = {
        Kind.TYPE: "handler_key__in",
        Kind.USER: "user_id__in",
        Kind.APP: "app_id__in",
        Kind.SCHEDULE: "schedule_id__in",
    }
    wanted = Q()
    for kind, field in fields.items():
        if values := streams.values(kind):
            wanted |= Q(**{field: values})
    return wanted or None
