"""One subscription of one connection: a topic, and how far in its stream the client has been sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasks.live.facts import dumps
from tasks.live.stream import Stream
from tasks.live.topics import Topic

if TYPE_CHECKING:
    from tasks.live.connection import Connection


class Listening:
    """``ready``: it has had its snapshot, or what stands for it, and hears events; ``cursor``: the last it was sent."""

    def __init__(self, connection: Connection, sub: str, topic: Topic, stream: Stream) -> None:
        self.connection = connection
        self.sub = sub
        self.topic = topic
        self.stream = stream
        self.cursor = stream.seq
        self.ready = False
        self._begin = f'{{"type":"event","sub":{dumps(sub)},"seq":'

    def begin_at(self, cursor: int) -> None:
        """Hear what came after ``cursor``."""
        self.cursor = cursor
        self.ready = True

    def next_frame(self) -> str | None:
        """The next frame that it is to be sent; None when there is none now."""
        stream = self.stream
        if not self.ready or self.cursor == stream.seq:
            return None
        if not stream.covers(self.cursor):
            return self.resync()
        self.cursor += 1
        return f'{self._begin}{self.cursor},"event":{stream.event(self.cursor)}}}'

    def resync(self) -> str:
        """Too much was missed: nothing more until a snapshot is asked for."""
        self.ready = False
        self.cursor = self.stream.seq
        self.connection.counts.resyncs += 1
        return dumps({"type": "resync", "sub": self.sub})
