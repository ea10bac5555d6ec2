"""One client: what it has asked for, and a writer that sends as fast as it reads.

Nothing is queued for a client but the answers to its own frames, a few at a time: events wait in their streams, once
for all. A client that does not read costs its socket's buffer.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tasks.live import frames, topics
from tasks.live.counts import COUNTS, Counts
from tasks.live.credentials import Credential
from tasks.live.facts import dumps
from tasks.live.frames import Frame, Ping, Replay, Subscribe, Unsubscribe
from tasks.live.listening import Listening
from tasks.live.refusals import Refused
from tasks.live.topics import Kind
from tasks.live.viewer import Viewer

if TYPE_CHECKING:
    from tasks.live.hub import Hub

MOST_SUBS = 100
MOST_REPLIES = 8

Send = Callable[[str], Awaitable[None]]
Close = Callable[[int], None]


class Connection:
    """``send`` writes one text frame and waits while the client's buffer is full; ``close`` asks for the end."""

    def __init__(self, hub: Hub, credential: Credential, viewer: Viewer, send: Send, close: Close) -> None:
        self.hub = hub
        self.credential = credential
        self.viewer = viewer
        self.close = close
        self.counts: Counts = COUNTS
        self.subs: dict[str, Listening] = {}
        self.opened_at = hub.time()
        self.spoke = False
        self.closed = False
        self.sending_since: float | None = None
        self.beat_due = False
        self._send = send
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._replies: deque[str] = deque()

    # -- what the client asks for -------------------------------------------------------------------

    async def handle(self, frame: Frame) -> None:
        """Do what a frame asks for. Raises Refused."""
        if self.closed:
            return
        self.spoke = True
        match frame:
            case Subscribe():
                await self._subscribe(frame)
            case Unsubscribe(sub):
                self._drop(self._known(sub))
            case Replay(sub, after):
                self._replay(self._known(sub), after)
            case Ping():
                await self.reply(dumps({"type": "pong"}))

    def _known(self, sub: str) -> Listening:
        found = self.subs.get(sub)
        if found is None:
            raise Refused("UNKNOWN_SUB", "Nothing is subscribed under this name.")
        return found

    async def _subscribe(self, ask: Subscribe) -> None:
        topic = topics.parse(ask.topic)
        audience = self.viewer.audience(topic)
        if audience is None:
            raise _not_for_you(topic.kind)
        if ask.sub in self.subs:
            self._drop(self.subs[ask.sub])
        elif len(self.subs) >= MOST_SUBS:
            raise Refused("TOO_MANY", f"A connection has at most {MOST_SUBS} subscriptions.")
        stream = self.hub.open(topic, audience)
        listening = Listening(self, ask.sub, topic, stream)
        self.subs[ask.sub] = listening
        stream.listeners.add(listening)
        try:
            await self._begin(listening, ask)
        except BaseException:
            if self.subs.get(ask.sub) is listening:
                self._drop(listening)
            raise

    async def _begin(self, listening: Listening, ask: Subscribe) -> None:
        since, stream = ask.since, listening.stream
        if since is not None and since.epoch == self.hub.epoch and stream.covers(since.seq):
            listening.begin_at(since.seq)
        elif not ask.snapshot:
            listening.begin_at(stream.seq)
            self.hub.begun(listening)
        else:
            seq, inside, found = await self.hub.snapshot(stream, ask.limit)
            if listening.stream is not stream:
                return  # its rights changed meanwhile, and it was told so
            if listening.topic.kind is Kind.JOB and not found:
                raise _not_for_you(Kind.JOB)
            head = f'{{"type":"snapshot","sub":{dumps(ask.sub)},"seq":{seq},'
            if ask.after_event is not None:
                missed = await self.hub.missed_app_events(stream, ask.after_event)
                if listening.stream is not stream:
                    return
                inside += f',"events":[{",".join(missed)}]'
            await self.reply(f"{head}{inside}}}")
            listening.begin_at(seq)
            self.hub.begun(listening)
        self.wake()

    def _replay(self, listening: Listening, after: int) -> None:
        if not listening.ready:
            return  # it was told to ask for a snapshot
        if listening.stream.covers(after):
            listening.cursor = min(listening.cursor, after)
            self.wake()
        else:
            self._say(listening.resync())

    def _drop(self, listening: Listening) -> None:
        self.subs.pop(listening.sub, None)
        self.hub.leave(listening)

    # -- what happens to it -------------------------------------------------------------------------

    def change(self, viewer: Viewer) -> None:
        """Its rights have changed: what it may no longer hear ends, what it hears otherwise begins anew."""
        self.viewer = viewer
        for listening in list(self.subs.values()):
            audience = viewer.audience(listening.topic)
            if audience == listening.stream.audience:
                continue
            self.hub.leave(listening)
            if audience is None:
                del self.subs[listening.sub]
                refused = _not_for_you(listening.topic.kind)
                self._say(error(refused, listening.sub))
                continue
            listening.stream = self.hub.open(listening.topic, audience)
            listening.stream.listeners.add(listening)
            self._say(listening.resync())

    def leave(self) -> None:
        """It is gone; nobody waits for it to read any more."""
        self.closed = True
        self._room.set()
        for listening in list(self.subs.values()):
            self._drop(listening)

    # -- what it is sent ----------------------------------------------------------------------------

    async def reply(self, text: str) -> None:
        """Answer; waits while too many answers wait to be read."""
        while len(self._replies) >= MOST_REPLIES and not self.closed:
            self._room.clear()
            await self._room.wait()
        if not self.closed:
            self._say(text)

    def _say(self, text: str) -> None:
        self._replies.append(text)
        self.wake()

    def wake(self) -> None:
        """There may be something to send."""
        self._wake.set()

    async def write(self) -> None:
        """Send, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._answer()
            for listening in list(self.subs.values()):
                while (frame := listening.next_frame()) is not None:
                    await self._put(frame)
                    if self._replies:
                        await self._answer()
            if self.beat_due:
                self.beat_due = False
                await self._beat()

    async def _answer(self) -> None:
        while self._replies:
            await self._put(self._replies.popleft())
            self._room.set()

    async def _beat(self) -> None:
        heads = {one.sub: one.cursor for one in self.subs.values() if one.ready}
        if heads:
            await self._put(dumps({"type": "beat", "heads": heads}))

    async def _put(self, text: str) -> None:
        self.sending_since = self.hub.time()
        await self._send(text)
        self.sending_since = None
        self.counts.frames += 1


def error(refused: Refused, sub: str | None) -> str:
    """The frame that tells of a refusal."""
    shown = {} if sub is None else {"sub": sub}
    return dumps({"type": "error", **shown, "code": refused.code, "message": refused.message})


def _not_for_you(kind: Kind) -> Refused:
    if kind is Kind.JOB:
        return Refused("NOT_FOUND", "There is no such job, or it is not for you.")
    return Refused("FORBIDDEN", "This topic is not for you.")


def refusal_of(text: str, refused: Refused) -> str:
    """The answer to a frame that was refused."""
    return error(refused, frames.sub_of(text))
