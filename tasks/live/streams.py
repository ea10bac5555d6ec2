"""The streams that somebody listens to, or did until a moment ago. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tasks.live.facts import Fact
from tasks.live.known import Place
from tasks.live.stream import Stream
from tasks.live.topics import Kind, Topic
from tasks.live.viewer import Audience

LINGER_SECONDS = 30.0
"""A stream without listeners is kept so long, for those who come back."""

BLOCK = 2**26
"""Numbers that a stream may use; there are enough blocks below 2**53, where JavaScript's whole numbers end."""

SPARE = 2**20

_NARROW = frozenset({Kind.JOB, Kind.SYSTEM})
_OF_ANY_TYPE = frozenset({Kind.JOBS, Kind.USER, Kind.SCHEDULE})


class Streams:
    """By topic and audience. No two streams ever share a number, so that what a client has of one is never taken for a
    place in another: one that is made again, or for others, begins in a block of its own."""

    def __init__(self) -> None:
        self._by_topic: dict[str, dict[Audience, Stream]] = {}
        self._blocks = 0
        self._of_any_type = 0

    def __iter__(self) -> Iterator[Stream]:
        return (stream for streams in self._by_topic.values() for stream in streams.values())

    def __bool__(self) -> bool:
        return bool(self._by_topic)

    def open(self, topic: Topic, audience: Audience) -> Stream:
        """The stream of this topic for this audience, made when there is none."""
        streams = self._by_topic.setdefault(topic.name, {})
        stream = streams.get(audience)
        if stream is None:
            stream = streams[audience] = Stream(topic, audience, self._next_block())
            self._of_any_type += topic.kind in _OF_ANY_TYPE
        stream.idle_since = None
        return stream

    def _next_block(self) -> int:
        self._blocks += 1
        return self._blocks * BLOCK

    def renew_full(self) -> list[Stream]:
        """Give those that have almost used up their numbers new ones; these, of which listeners need a snapshot."""
        full = [stream for stream in self if stream.seq - stream.base > BLOCK - SPARE]
        for stream in full:
            stream.begin_anew(self._next_block())
        return full

    def remove_idle(self, at: float) -> None:
        """Forget streams that nobody has listened to for a while; ``at``: monotonic seconds."""
        for stream in [one for one in self if not one.listeners]:
            if stream.idle_since is None:
                stream.idle_since = at
            elif at - stream.idle_since >= LINGER_SECONDS:
                self._remove(stream)

    def _remove(self, stream: Stream) -> None:
        name = stream.topic.name
        del self._by_topic[name][stream.audience]
        if not self._by_topic[name]:
            del self._by_topic[name]
        self._of_any_type -= stream.topic.kind in _OF_ANY_TYPE

    def of(self, topic: str) -> Iterable[Stream]:
        """All streams of one topic."""
        return self._by_topic.get(topic, {}).values()

    def has(self, topic: str) -> bool:
        """Does anybody listen to it?"""
        return topic in self._by_topic

    def may_carry(self, handler_key: str) -> bool:
        """Might jobs of this type belong to a topic of many jobs that somebody listens to?"""
        app_id = handler_key.partition(":")[0]
        return self._of_any_type > 0 or self.has(f"type:{handler_key}") or self.has(f"app:{app_id}")

    def wide_ones(self) -> list[Stream]:
        """Those that carry many jobs."""
        return [stream for stream in self if stream.topic.kind not in _NARROW]

    def job_ids(self) -> list[str]:
        """The jobs that have topics of their own here."""
        return [name[4:] for name in self._by_topic if name.startswith("job:")]

    def values(self, kind: Kind) -> list[str]:
        """What follows the kind in the topics of this kind; of types the handler's key."""
        topics = [next(iter(streams.values())).topic for streams in self._by_topic.values()]
        return [
            f"{one.app_id}:{one.value}" if kind is Kind.TYPE else one.value
            for one in topics
            if one.kind is kind
        ]

    def payloads(self) -> frozenset[bool]:
        """Whether anybody sees payloads, and whether anybody does not."""
        return frozenset(stream.audience.payload for stream in self)

    def publish(self, fact: Fact) -> Iterator[Stream]:
        """Add a fact's event wherever it is heard; the streams that it was added to."""
        for topic in fact.topics:
            for stream in self.of(topic):
                if fact.heard_by(stream.audience) and (body := fact.body(stream.audience)) is not None:
                    stream.add(body)
                    yield stream

    def tell(self, event: str, place: Place) -> Iterator[Stream]:
        """Add an event without payload for all who may hear of rows in this place."""
        for topic in place.topics:
            for stream in self.of(topic):
                if stream.audience.hears(place.user_id, place.app_id):
                    stream.add(event)
                    yield stream
