"""Each second a look at the rows themselves: a hint that was lost costs no more than that."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import DataError, InterfaceError, OperationalError
from django.db.models import Q

from jobsplatform.kernel import clock
from tasks.live import hints, reads, sources
from tasks.live.interests import interest, interests
from tasks.live.passed import Passed
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
"""When more has changed that was not told, whoever listens to many jobs is told to fetch a snapshot."""

FAR_MOST = 20_000
"""Rows that are looked through when a look goes far back."""

VANISHED_EVERY = 5

_ABOUT_VALUES = (ValueError, DataError)
"""What a question raises that is at fault itself; anything else is the database's."""


class Looks:
    """``step`` waits for the next second, or until it is asked for, and looks."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._wake = asyncio.Event()
        self._looked_at = clock.now()
        self._count = 0
        self._flooded = False
        self._small: dict[str, dict[str, str]] = {}
        self._passed = Passed()

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
        far = self._count % FAR_EVERY == 0
        since = min(now, self._looked_at) - (FAR_BACK if far else BACK)
        failed = await self._look(since, FAR_MOST if far else MOST)
        self._looked_at = now
        if failed is not None:
            raise failed

    async def _look(self, since: datetime, most: int) -> Exception | None:
        """Each of its parts, whatever becomes of the others; what the first of those that failed has raised. Raises
        when the database is away."""
        failed: Exception | None = None
        parts: tuple[Callable[[], Awaitable[None]], ...] = (
            lambda: self._jobs(since, most),
            self._single_jobs,
            lambda: self._outside(since, most),
            self._small_tables,
            lambda: self._schedules(since),
        )
        for part in parts:
            try:
                await part()
            except (OperationalError, InterfaceError):
                raise
            except Exception as error:  # noqa: BLE001 (it is raised when all have had their turn)
                failed = failed or error
        return failed

    async def _jobs(self, since: datetime, most: int) -> None:
        among = interest(self._hub.streams)
        if among is None:
            self._flooded = False
            return
        try:
            self._flooded = await self._jobs_among(among, since, most)
        except _ABOUT_VALUES:
            # One topic's question is at fault: the others are asked each by itself.
            await self._jobs_one_by_one(since, most)

    async def _jobs_one_by_one(self, since: datetime, most: int) -> None:
        failed: Exception | None = None
        flooded = False
        for one in interests(self._hub.streams):
            try:
                flooded |= await self._jobs_among(one, since, most)
            except _ABOUT_VALUES as error:
                failed = error
        self._flooded = flooded
        if failed is not None:
            raise failed

    async def _jobs_among(self, among: Q, since: datetime, most: int) -> bool:
        """Tell of what has changed, or that too much has."""
        changed = await self._hub.watch.ask(reads.changed_jobs, since, among, most + 1)
        leaders = await self._hub.watch.ask(reads.changed_leaders, since, among, most + 1)
        found = [(str(job_id), revision) for job_id, revision in {*changed, *leaders}]
        full = max(len(changed), len(leaders)) > most
        return self._tell(hints.JOB, "job", found, full, self._hub.skip_wide)

    def _tell(
        self, kind: str, word: str, found: list[tuple[str, int]], full: bool, skip: Callable[[], None]
    ) -> bool:
        """Have those of these rows told that were not, or skip them when they are too many: has it skipped?
        ``full``: there are more than were read."""
        known = self._hub.rounds.known
        news = [
            (key, revision)
            for key, revision in found
            if not known.has(f"{word}:{key}", revision) and not self._passed.has(f"{word}:{key}", revision)
        ]
        if full or len(news) > MOST:
            self._passed.add((f"{word}:{key}", revision) for key, revision in news)
            skip()
            return True
        for key, _ in news:
            self._hub.rounds.want(kind, key)
        return False

    async def _single_jobs(self) -> None:
        ids = set(self._hub.followed())
        if self._count % VANISHED_EVERY == 0:
            ids |= {key[4:] for key in self._hub.rounds.known.shown_keys()}
        if not ids:
            return
        there = await self._hub.watch.ask(reads.revisions, [UUID(key) for key in ids])
        known = self._hub.rounds.known
        for job_id, revision in there.items():
            if not known.has(f"job:{job_id}", revision):
                self._hub.rounds.want(hints.JOB, str(job_id))
        self._hub.rounds.gone(ids - {str(job_id) for job_id in there})

    async def _outside(self, since: datetime, most: int) -> None:
        streams, watch = self._hub.streams, self._hub.watch
        if not (streams.values(Kind.USER) or streams.values(Kind.APP)):
            return
        rows = await watch.ask(reads.changed_external, since, most + 1)
        elsewhere = [(str(row), revision) for row, revision in rows]
        self._tell(hints.EXTERNAL, "external", elsewhere, len(rows) > most, self._skip_outside)
        events = await watch.ask(reads.new_app_events, since, most + 1)
        told = [(str(row), 1) for row in events]
        self._tell(hints.EVENT, "event", told, len(events) > most, self._skip_outside)

    def _skip_outside(self) -> None:
        self._hub.skip((Kind.USER, Kind.APP))

    async def _schedules(self, since: datetime) -> None:
        names = set(self._hub.streams.values(Kind.SCHEDULE))
        if self._hub.streams.has("system"):
            names |= await self._hub.watch.ask(sources.schedules_written, since, MOST)
        await self._hub.rounds.tell_schedules(sorted(names))

    async def _small_tables(self) -> None:
        if not self._hub.streams.has("system"):
            self._small.clear()
            return
        await self._compare("apps", sources.apps, lambda _, changed: sources.apps_changed(changed))
        await self._compare(
            "suspensions", sources.suspensions, lambda standing, _: sources.suspensions_changed(standing)
        )

    async def _compare(
        self,
        name: str,
        read: Callable[[], dict[str, str]],
        event: Callable[[dict[str, str], Collection[str]], str],
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
