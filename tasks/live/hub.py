"""The live feed of one web process: reads each change once, for all its clients.

One for each event loop; it works while anybody listens, and a little longer.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from jobsplatform.kernel import clock
from tasks.live import credentials, facts, hints, reads
from tasks.live.connection import Connection
from tasks.live.counts import COUNTS
from tasks.live.desk import Desk
from tasks.live.flight import Flight, Snapshot
from tasks.live.listening import Listening
from tasks.live.looks import Looks
from tasks.live.rounds import Rounds
from tasks.live.stream import Stream
from tasks.live.streams import Streams
from tasks.live.topics import Kind, Topic
from tasks.live.viewer import Audience, Viewer

logger = logging.getLogger("jobsplatform.live")

BEAT_SECONDS = 1.0
RECHECK_SECONDS = 2.0
"""Sessions, tokens and rights are looked at again this often."""

TRUST_SECONDS = 1.0
HELLO_SECONDS = 30.0
STUCK_SECONDS = 30.0
LOG_EVERY_SECONDS = 60.0

MOST_KEPT = 10_000

SIGNED_OUT = 4401
TOO_SLOW = 4408

_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def current() -> Hub:
    """The hub of the running loop."""
    loop = asyncio.get_running_loop()
    hub = _hubs.get(loop)
    if hub is None:
        hub = _hubs[loop] = Hub(loop)
    return hub


async def stop() -> None:
    """End the work of the running loop's hub, if it has one."""
    hub = _hubs.get(asyncio.get_running_loop())
    if hub is not None:
        await hub.stop()


class Hub:
    """``desk`` reads for the rounds, ``watch`` for looks and for whether rights still stand, ``asks`` for everything
    else: a storm of newcomers delays no event, and lets nobody listen for longer than they may."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.epoch = uuid.uuid4().hex
        self.streams = Streams()
        self.connections: set[Connection] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._leaders: dict[str, str] = {}
        self._visitors = 0
        self._let_in: dict[credentials.Credential, tuple[float, Viewer]] = {}
        self._logged: dict[str, float] = {}

    def time(self) -> float:
        """Monotonic seconds."""
        return self.loop.time()

    # -- its life -----------------------------------------------------------------------------------

    @property
    def working(self) -> bool:
        return bool(self._tasks)

    @contextmanager
    def visited(self) -> Iterator[None]:
        """Somebody is at the door: work, and go on while it is asked who that is."""
        self._visitors += 1
        try:
            if not self.working:
                self._start()
            yield
        finally:
            self._visitors -= 1

    def attach(self, connection: Connection) -> None:
        """A client has come in."""
        self.connections.add(connection)
        COUNTS.connections += 1

    def detach(self, connection: Connection) -> None:
        """It has gone."""
        if connection in self.connections:
            self.connections.remove(connection)
            COUNTS.connections -= 1
        connection.leave()

    def _start(self) -> None:
        self.desk = Desk("live-rounds")
        self.watch = Desk("live-watch")
        self.asks = Desk("live-asks")
        self.rounds = Rounds(self)
        self._looks = Looks(self)
        self._ear = hints.Ear(self.rounds.hinted)
        hints.listen(self.rounds.hinted)
        self._ear.start()
        steps = {
            "rounds": self.rounds.step,
            "looks": self._looks.step,
            "pulse": self._pulse,
            "recheck": self._recheck,
        }
        self._tasks = [
            self.loop.create_task(self._forever(*each), name=f"live {each[0]}") for each in steps.items()
        ]

    async def stop(self) -> None:
        """Let go of threads and connections; the next client starts it anew."""
        tasks, self._tasks = self._tasks, []
        if not tasks:
            return
        # Somebody may come while we wait here, and start all of these anew.
        rounds, ear, desks = self.rounds, self._ear, (self.desk, self.watch, self.asks)
        hints.unlisten(rounds.hinted)
        mine = asyncio.current_task()
        for task in tasks:
            if task is not mine:
                task.cancel()
        await asyncio.gather(*(task for task in tasks if task is not mine), return_exceptions=True)
        await self.loop.run_in_executor(None, ear.stop)
        for desk in desks:
            desk.close()
        if mine in tasks and mine is not None:
            mine.cancel()

    async def _forever(self, name: str, step: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await step()
            except Exception as error:
                self._log(name, error)
                await asyncio.sleep(1.0)

    def _log(self, name: str, error: Exception) -> None:
        at = self.time()
        if at - self._logged.get(name, float("-inf")) >= LOG_EVERY_SECONDS:
            self._logged[name] = at
            logger.error(
                "live %s failed and goes on: %s: %s", name, type(error).__name__, error, exc_info=error
            )

    async def _pulse(self) -> None:
        await asyncio.sleep(BEAT_SECONDS)
        at = self.time()
        for connection in list(self.connections):
            stuck = connection.sending_since
            silent = not connection.spoke and at - connection.opened_at > HELLO_SECONDS
            if silent or (stuck is not None and at - stuck > STUCK_SECONDS):
                connection.close(TOO_SLOW)
            elif connection.subs:
                connection.beat_due = True
                connection.wake()
        self.streams.remove_idle(at)
        self.touched(self.streams.renew_full())
        if len(self._leaders) > MOST_KEPT:
            self._leaders.clear()
        if not (self.connections or self.streams or self._visitors):
            await self.stop()

    async def _recheck(self) -> None:
        await asyncio.sleep(RECHECK_SECONDS)
        self._let_in.clear()
        held = {connection.credential for connection in self.connections}
        if not held:
            return
        found = await self.watch.ask(credentials.viewers, held, clock.now())
        for connection in list(self.connections):
            if connection.credential not in held:
                continue  # it came while we asked
            viewer = found.get(connection.credential)
            if viewer is None:
                connection.close(SIGNED_OUT)
            elif viewer != connection.viewer:
                connection.change(viewer)

    # -- what connections ask of it -----------------------------------------------------------------

    def open(self, topic: Topic, audience: Audience) -> Stream:
        """The stream of this topic for this audience."""
        return self.streams.open(topic, audience)

    def leave(self, listening: Listening) -> None:
        """Nobody is there any more to listen."""
        listening.ready = False
        listening.stream.listeners.discard(listening)

    def begun(self, listening: Listening) -> None:
        """It hears events from now on, and knows no more than a snapshot of jobs."""
        if listening.topic.kind is Kind.SCHEDULE:
            self.rounds.untold(listening.topic.value)

    async def snapshot(self, stream: Stream, limit: int) -> Snapshot:
        """What the stream's topic holds, read after this was called. Those who ask meanwhile share the next reading."""
        flight = stream.flights.get(limit)
        if flight is None:
            flight = stream.flights[limit] = Flight(lambda: self._read_snapshot(stream, limit))
        return await flight.next()

    async def _read_snapshot(self, stream: Stream, limit: int) -> Snapshot:
        # Before the reading: what happens meanwhile comes after the snapshot, and may be in it already.
        seq = stream.seq
        topic = stream.topic
        under_way: list[str] = []
        if topic.kind is Kind.TYPE:
            under_way = self.rounds.runs.on_their_way(topic.app_id, topic.value, reads.MOST_RUNNING)
        inside, shown = await self.asks.ask(reads.snapshot, topic, stream.audience, limit, under_way)
        for fact in shown:
            self.shows(fact)
        return seq, inside, bool(shown)

    async def missed_app_events(self, stream: Stream, after: int) -> list[str]:
        """What apps have told on this topic after event ``after``, as JSON."""
        rows = await self.asks.ask(reads.missed_app_events, stream.topic, stream.audience, after)
        told = (facts.of_app_event(row).body(stream.audience) for row in rows)
        return [body for body in told if body is not None]

    async def viewer(self, credential: credentials.Credential) -> Viewer | None:
        """Whom a credential lets in, as of this second: all who come back at once ask but once."""
        known = self._let_in.get(credential)
        if known is not None and self.time() - known[0] < TRUST_SECONDS:
            return known[1]
        viewer = (await self.asks.ask(credentials.viewers, [credential], clock.now())).get(credential)
        if viewer is not None and len(self._let_in) < MOST_KEPT:
            self._let_in[credential] = (self.time(), viewer)
        return viewer

    # -- what rounds and looks ask of it ------------------------------------------------------------

    def touched(self, streams: Iterable[Stream]) -> None:
        """Something was added to these streams."""
        for stream in streams:
            for listening in stream.listeners:
                listening.connection.wake()

    def followed(self) -> list[str]:
        """The ids of jobs with a topic of their own, and of the leaders that they show."""
        ids = self.streams.job_ids()
        return ids + [self._leaders[job_id] for job_id in ids if job_id in self._leaders]

    def shows(self, fact: facts.Fact) -> None:
        """A row that somebody looks at, as it stands now."""
        self.rounds.known.shown(fact)
        job_id = fact.key.removeprefix("job:")
        if fact.leader:
            self._leaders[job_id] = fact.leader
        else:
            self._leaders.pop(job_id, None)

    def look_now(self) -> None:
        """More has changed than was named."""
        self._looks.now()

    def skip_wide(self) -> None:
        """Too much has changed to be told one by one."""
        self._skip(self.streams.wide_ones())

    def skip(self, kinds: Collection[Kind]) -> None:
        """The same, on topics of these kinds alone."""
        self._skip([stream for stream in self.streams if stream.topic.kind in kinds])

    def _skip(self, streams: Collection[Stream]) -> None:
        for stream in streams:
            stream.skip()
        self.touched(streams)
