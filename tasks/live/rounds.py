"""From hints to events: what has changed is read once for everybody, a few milliseconds later."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any
from uuid import UUID

from jobsplatform.kernel import clock
from tasks.live import hints, reads, sources
from tasks.live.facts import Fact, dumps
from tasks.live.hints import Hint
from tasks.live.known import Known, Place
from tasks.live.pace import Pace
from tasks.live.runs import RunWatch
from tasks.live.topics import of_type

if TYPE_CHECKING:
    from tasks.live.hub import Hub

BATCH = 500
"""Rows that are read in one go."""

MUCH = 2000
"""When more than so many wait to be told, nobody is told one by one: a look decides."""

PAUSE_SECONDS = 0.004
SHARE = 2.0
"""After a round it rests so many times as long as that took: two thirds of the time are left to others."""

EMPTY = Place((), "", "")


class Rounds:
    """Takes hints from any thread; a task of the hub's loop does the rest."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._inbox: deque[Hint] = deque(maxlen=1000)
        self._wake = asyncio.Event()
        self._pace = Pace()
        self._schedules: dict[str, str] = {}
        self.known = Known()
        self.runs = RunWatch(clock.now())

    def hinted(self, hint: Hint) -> None:
        """Any thread may call it."""
        self._inbox.append(hint)
        try:
            self._hub.loop.call_soon_threadsafe(self._wake.set)
        except RuntimeError:  # the loop has ended, and we were not told
            hints.unlisten(self.hinted)

    def want(self, kind: str, key: str) -> None:
        """Read this row at its next turn; for the loop's own thread."""
        self._pace.want((kind, key), self._hub.time())
        self._wake.set()

    async def step(self) -> None:
        """Wait for work, and do one round of it."""
        due = self._pace.next_due()
        try:
            async with asyncio.timeout_at(due):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()
        self._take_hints()
        began = self._hub.time()
        keys = self._pace.take(began, BATCH)
        if keys:
            await self._tell(keys)
        took = self._hub.time() - began
        await asyncio.sleep(max(PAUSE_SECONDS, took * SHARE))
        if self._inbox:
            self._wake.set()

    def _take_hints(self) -> None:
        at = self._hub.time()
        alone: set[str] | None = None
        while self._inbox:
            hint = self._inbox.popleft()
            if hint.much or hint.changed.keys() & {hints.APPS, hints.SUSPENSIONS}:
                self._hub.look_now()
            for kind in hint.changed.keys() - {hints.APPS, hints.SUSPENSIONS}:
                for key in hint.changed[kind]:
                    self._pace.want((kind, key), at)
            for kind, by_type in hint.jobs.items():
                for handler_key, keys in by_type.items():
                    if not self._hub.streams.may_carry(handler_key):
                        alone = set(self._hub.followed()) if alone is None else alone
                        keys = keys & alone
                    for key in keys:
                        # A job has one pace, whatever of it has changed.
                        self._pace.want((hints.JOB, key), at, progress=kind == hints.PROGRESS)
        if len(self._pace) > MUCH:
            self._pace.drop()
            self._hub.look_now()

    async def _tell(self, keys: list[Any]) -> None:
        by_kind: dict[str, list[str]] = {}
        for kind, key in keys:
            by_kind.setdefault(kind, []).append(key)
        told: list[Fact] = []
        if rows := [int(key) for key in by_kind.get(hints.EXTERNAL, ())]:
            told += await self._hub.desk.ask(reads.external_facts, rows)
        if rows := [int(key) for key in by_kind.get(hints.EVENT, ())]:
            told += await self._hub.desk.ask(reads.app_event_facts, rows)
        # Last, so that nobody comes between this and the telling of it.
        if ids := [UUID(key) for key in by_kind.get(hints.JOB, ())]:
            found = await self._read_jobs(ids)
            self.gone({str(job_id) for job_id in ids} - {fact.key[4:] for fact in found})
            told += found
        for fact in told:
            self._publish(fact)
        if names := by_kind.get(hints.SCHEDULE):
            await self.tell_schedules(names)

    async def _read_jobs(self, ids: list[UUID]) -> list[Fact]:
        """Written out for everybody who listens by the time that they are read."""
        payloads = self._hub.streams.payloads()
        while True:
            found = await self._hub.desk.ask(reads.job_facts, ids, payloads)
            listen_now = self._hub.streams.payloads()
            if listen_now <= payloads:
                return found
            payloads |= listen_now

    def _publish(self, fact: Fact) -> None:
        if not self.known.is_news(fact):
            return
        streams = self._hub.streams
        self._hub.touched(streams.publish(fact))
        self._hub.shows(fact)
        run = fact.run
        if run is None or not streams.has(topic := of_type(run.app_id, run.job_type)):
            return
        place = Place((topic,), fact.user_id, fact.app_id)
        for event in self.runs.look(run):
            self._hub.touched(streams.tell(dumps(event), place))

    def gone(self, job_ids: set[str]) -> None:
        """These jobs are no longer there."""
        for job_id in job_ids:
            place = self.known.forget(f"job:{job_id}")
            event = dumps({"name": "job_gone", "id": job_id})
            if place is not None:
                self._hub.touched(self._hub.streams.tell(event, place))

    def untold(self, name: str) -> None:
        """Somebody listens to this schedule who was not told how it stands: tell it again."""
        self._schedules.pop(name, None)
        self.want(hints.SCHEDULE, name)

    async def tell_schedules(self, names: list[str]) -> None:
        """Tell of these schedules, as far as they are not as they were told last."""
        streams = self._hub.streams
        everywhere = streams.has("system")
        wanted = [name for name in names if everywhere or streams.has(f"schedule:{name}")]
        found = await self._hub.desk.ask(sources.schedules, wanted)
        for name, event in found.items():
            if self._schedules.get(name) == event:
                continue
            self._schedules[name] = event
            for topic in (f"schedule:{name}", "system"):
                for stream in streams.of(topic):
                    if stream.audience.schedules:
                        stream.add(event)
                        self._hub.touched([stream])
        if len(self._schedules) > MUCH:
            self._schedules.clear()
