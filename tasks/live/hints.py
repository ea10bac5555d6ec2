"""What has changed, told to the web processes after the commit. Only a hint: a lost one costs a second.

Whoever changes something calls ``note``; that costs a fraction of a microsecond. A thread of the process sends what
has come together, a few milliseconds later, over one Redis channel and to the listeners of its own process. While
nobody listens nothing is sent but one question a second.
"""

from __future__ import annotations

import json
import os
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from jobsplatform.kernel import clock, config, events
from jobsplatform.kernel.app_events import AppsChanged
from jobsplatform.kernel.loop import Loop
from tasks.events import (
    AppEventTold,
    CancelRequested,
    ExternalJobChanged,
    JobMoved,
    JobSubmitted,
    ProgressMade,
    SuspensionChanged,
)

CHANNEL = "jobsplatform:live"

GATHER_SECONDS = 0.004
"""What changes within so long of the first is one message."""

BUSY_SECONDS = 0.05
"""The same while much changes."""

BUSY = 100
MOST = 1000
"""More ids than this are not named: whoever listens looks by itself."""

REST_SECONDS = 1.0
"""While nobody listens, or Redis is away, nothing is noted for so long."""

SEND_SECONDS = 1.0
AWAY_SECONDS = 1.0
"""After Redis has failed it is not tried for so long; listeners of this process hear all the same."""

JOB, PROGRESS, EXTERNAL, EVENT, SCHEDULE, APPS, SUSPENSIONS = "j", "p", "x", "e", "s", "a", "u"
OF_JOBS = frozenset({JOB, PROGRESS})
OTHERS = frozenset({EXTERNAL, EVENT, SCHEDULE, APPS, SUSPENSIONS})


@dataclass(slots=True)
class Hint:
    """What has changed, by kind; ``jobs``: by kind and type of job, so that whoever listens to other types need not
    look; ``much``: more than can be named."""

    changed: dict[str, set[str]] = field(default_factory=dict)
    jobs: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    much: bool = False

    def __len__(self) -> int:
        types = (keys for by_type in self.jobs.values() for keys in by_type.values())
        return sum(map(len, self.changed.values())) + sum(map(len, types))

    def add(self, kind: str, key: Any) -> None:
        """``key``: of a job its id and the key of its handler."""
        if kind in OF_JOBS:
            job_id, handler_key = key
            self.jobs.setdefault(kind, {}).setdefault(handler_key, set()).add(str(job_id))
        else:
            self.changed.setdefault(kind, set()).add(str(key))


Listener = Callable[[Hint], None]

_noted: deque[tuple[str, Any]] = deque(maxlen=20_000)
_deaf = False
_sender: Sender | None = None
_listeners: tuple[Listener, ...] = ()
_origin = uuid.uuid4().hex


def note(kind: str, key: Any) -> None:
    """``key`` (``Hint.add``) has changed; call it after the commit. Never raises, never waits."""
    if _deaf:
        return
    _noted.append((kind, key))
    sender = _sender
    if sender is None or not sender.awake:
        _wake()


def note_schedule(schedule_id: str) -> None:
    """A schedule was changed or has decided; call it after the commit."""
    note(SCHEDULE, schedule_id)


def listen(listener: Listener) -> None:
    """Hear what this process notes. It is called from another thread."""
    global _listeners, _deaf
    _listeners = (*_listeners, listener)
    _deaf = False


def unlisten(listener: Listener) -> None:
    """Undo ``listen``."""
    global _listeners
    _listeners = tuple(other for other in _listeners if other != listener)


def install() -> None:
    """Note what happens to jobs in this process from now on."""
    events.subscribe(JobMoved, _job_changed)
    events.subscribe(JobSubmitted, _job_changed)
    events.subscribe(CancelRequested, _job_changed)
    events.subscribe(ProgressMade, _progressed)
    events.subscribe(SuspensionChanged, _suspended)
    events.subscribe(AppsChanged, _app_changed)
    events.subscribe(ExternalJobChanged, _external_changed)
    events.subscribe(AppEventTold, _app_told)


def _job_changed(event: Any) -> None:
    if not _deaf:
        note(JOB, (event.job_id, event.handler_key))


def _progressed(event: ProgressMade) -> None:
    if not _deaf:
        note(PROGRESS, (event.job_id, event.handler_key))


def _suspended(event: SuspensionChanged) -> None:
    note(SUSPENSIONS, event.scope)


def _app_changed(event: AppsChanged) -> None:
    note(APPS, event.app_id)


def _external_changed(event: ExternalJobChanged) -> None:
    note(EXTERNAL, event.external_id)


def _app_told(event: AppEventTold) -> None:
    note(EVENT, event.event_id)


def _wake() -> None:
    global _sender
    if _sender is None or not _sender.alive:
        _sender = Sender()
        _sender.start()
    _sender.wake()


def _forget() -> None:
    """In a forked child: its parent's thread did not come along."""
    global _sender, _deaf, _listeners, _origin
    _noted.clear()
    _sender, _deaf, _listeners, _origin = None, False, (), uuid.uuid4().hex


os.register_at_fork(after_in_child=_forget)


class Sender(Loop):
    """Sends what was noted, together."""

    name = "live-hints"

    def __init__(self) -> None:
        super().__init__()
        self._client: redis.Redis | None = None
        self._url = ""
        self._gather = GATHER_SECONDS
        self._rests_until = 0.0

    @property
    def awake(self) -> bool:
        """Has it been woken, so that it will look once more?"""
        return self._woken.is_set()

    def wait_seconds(self) -> float:
        return 60.0

    def step(self) -> bool:
        self._stopping.wait(self._gather)
        # Whatever is noted from here on wakes it anew.
        self._woken.clear()
        hint = gather()
        if hint is None:
            return False
        many = hint.much or len(hint) > BUSY
        self._gather = BUSY_SECONDS if many else GATHER_SECONDS
        for listener in _listeners:
            listener(hint)
        heard = self._send(hint)
        if not heard and not _listeners:
            self._rest()
        return bool(_noted)

    def _rest(self) -> None:
        global _deaf
        _deaf = True
        _noted.clear()
        self._stopping.wait(REST_SECONDS)
        _deaf = False

    def _send(self, hint: Hint) -> bool:
        """Has any other process heard it?"""
        url = config.get().redis_url
        if not url or clock.monotonic() < self._rests_until:
            return False
        try:
            return bool(self._to(url).publish(CHANNEL, encode(hint, _origin)))
        except (redis.RedisError, OSError):
            self._client = None
            self._rests_until = clock.monotonic() + AWAY_SECONDS
            return False

    def _to(self, url: str) -> redis.Redis:
        if self._client is None or self._url != url:
            self._client, self._url = connect(url, SEND_SECONDS), url
        return self._client


def gather() -> Hint | None:
    """All that is noted, which it takes; None when nothing is."""
    if not _noted:
        return None
    hint = Hint(much=len(_noted) == _noted.maxlen)
    count = 0
    while _noted:
        try:
            hint.add(*_noted.popleft())
        except IndexError:
            break
        count += 1
        if count > MOST * 10:
            break
    if len(hint) > MOST:
        return Hint({kind: keys for kind, keys in hint.changed.items() if len(keys) <= MOST}, much=True)
    return hint


def encode(hint: Hint, origin: str) -> str:
    """A hint as it travels."""
    told: dict[str, Any] = {kind: sorted(keys) for kind, keys in hint.changed.items()}
    for kind, by_type in hint.jobs.items():
        told[kind] = {handler_key: sorted(keys) for handler_key, keys in by_type.items()}
    return json.dumps({**told, "o": origin, **({"much": True} if hint.much else {})}, separators=(",", ":"))


def decode(text: object) -> Hint | None:
    """A hint that came from another process; None for our own, and for what is none."""
    try:
        told = json.loads(text) if isinstance(text, str | bytes) else None
    except ValueError:
        return None
    if not isinstance(told, Mapping) or told.get("o") == _origin:
        return None
    changed = {kind: set(map(str, told[kind])) for kind in OTHERS if isinstance(told.get(kind), list)}
    jobs = {
        kind: {key: set(map(str, ids)) for key, ids in told[kind].items() if isinstance(ids, list)}
        for kind in OF_JOBS
        if isinstance(told.get(kind), Mapping)
    }
    return Hint(changed, jobs, bool(told.get("much")))


def connect(url: str, seconds: float) -> redis.Redis:
    """A client that fails rather than waits."""
    return redis.Redis.from_url(
        url,
        socket_timeout=seconds,
        socket_connect_timeout=seconds,
        socket_keepalive=True,
        retry=Retry(NoBackoff(), 0),
        decode_responses=True,
    )


class Ear(Loop):
    """Hears the hints of other processes; after a gap it says that much may have changed."""

    name = "live-ear"

    def __init__(self, listener: Listener) -> None:
        super().__init__()
        self._listener = listener
        self._pubsub: Any = None
        self.heard_at = float("-inf")

    def start(self) -> None:
        if config.get().redis_url:
            super().start()

    def stop(self, timeout: float | None = 10.0) -> bool:
        ended = super().stop(timeout)
        self.failed(RuntimeError("stopped"))
        return ended

    def step(self) -> bool:
        if self._pubsub is None:
            pubsub = connect(config.get().redis_url, 5.0).pubsub(ignore_subscribe_messages=True)
            pubsub.subscribe(CHANNEL)
            self._pubsub = pubsub
            self._listener(Hint(much=True))
        for hint in self._messages():
            self._listener(hint)
        self.heard_at = clock.monotonic()
        return True

    def _messages(self) -> Iterable[Hint]:
        message = self._pubsub.get_message(timeout=0.5)
        hint = decode(message.get("data")) if message else None
        if hint is not None:
            yield hint

    def failed(self, error: Exception) -> None:
        pubsub, self._pubsub = self._pubsub, None
        if pubsub is not None:
            try:
                pubsub.close()
            except (redis.RedisError, OSError):
                pass  # it is gone already
