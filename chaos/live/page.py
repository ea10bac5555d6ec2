"""A client of the live feed that does what one must: keeps its place, asks for what it missed, comes back."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 1.0
SILENCE_SECONDS = 4.0
"""Beats come each second; after so long without any frame the connection is dead."""

REPLAY_SECONDS = 0.4
"""What was asked for again and did not all come is asked for once more."""

MOST_AHEAD = 500


@dataclass(slots=True)
class Sub:
    """How far one subscription is."""

    topic: str
    limit: int
    epoch: str = ""
    seq: int = -1
    fresh: bool = False
    head: int = -1  # the last event that it has heard of
    ahead: dict[int, dict[str, Any]] = field(
        default_factory=dict
    )  # events that came before one that is missing


@dataclass(slots=True)
class Seen:
    """What a page has been through."""

    events: int = 0
    dropped: int = 0
    replays: int = 0
    snapshots: int = 0
    resyncs: int = 0
    connections: int = 0
    since: float = field(default_factory=time.monotonic)
    per_job: dict[str, int] = field(default_factory=dict)

    def seconds(self) -> float:
        """How long it has been looking."""
        return time.monotonic() - self.since


class Page:
    """``picture``: job id → (revision, job). ``drops``: the share of frames that are lost on the way to it."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        topics: Mapping[str, str],
        *,
        origin: str | None = None,
        drops: float = 0.0,
        limit: int = 1000,
        patience: float = SILENCE_SECONDS,
        seed: int = 0,
        on_event: Callable[[dict[str, Any], float], None] | None = None,
    ) -> None:
        self.url, self.origin = url, origin
        self.headers = dict(headers)
        self.subs = {sub: Sub(topic, limit) for sub, topic in topics.items()}
        self.picture: dict[str, tuple[int, dict[str, Any]]] = {}
        self.seen = Seen()
        self._drops = drops
        self._patience = patience
        self._rng = random.Random(seed)
        self._on_event = on_event
        self._task: asyncio.Task[None] | None = None
        self._asking: asyncio.Task[None] | None = None

    @property
    def synced(self) -> bool:
        """Has every subscription had its snapshot?"""
        return all(sub.fresh for sub in self.subs.values())

    def start(self) -> None:
        self._task = asyncio.create_task(self._live())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _live(self) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                async with connect(
                    self.url,
                    additional_headers=self.headers,
                    origin=self.origin,  # type: ignore[arg-type]
                    proxy=None,
                    compression=None,
                    open_timeout=30,
                ) as socket:
                    self.seen.connections += 1
                    pause = FIRST_PAUSE
                    await self._listen(socket)
            except (OSError, WebSocketException, TimeoutError):
                pass
            finally:
                if self._asking is not None:
                    self._asking.cancel()
            # Not all in the same moment.
            await asyncio.sleep(pause * (0.5 + self._rng.random()))
            pause = min(LONGEST_PAUSE, pause * 2)

    async def _listen(self, socket: ClientConnection) -> None:
        while True:
            async with asyncio.timeout(self._patience):
                text = await socket.recv()
            frame = json.loads(text)
            # Answers to what it asks would be asked for again after a while; a test has no patience for that.
            if frame["type"] in ("event", "beat") and self._rng.random() < self._drops:
                self.seen.dropped += 1
                continue
            await self._take(socket, frame)

    async def _take(self, socket: ClientConnection, frame: dict[str, Any]) -> None:
        match frame["type"]:
            case "hello":
                for name, sub in self.subs.items():
                    since = {"epoch": sub.epoch, "seq": sub.seq} if sub.epoch == frame["epoch"] else None
                    sub.epoch, sub.fresh = frame["epoch"], since is not None
                    await self._subscribe(socket, name, since)
            case "snapshot":
                self._take_snapshot(self.subs[frame["sub"]], frame)
            case "event":
                await self._take_event(socket, frame)
            case "beat":
                for name, head in frame["heads"].items():
                    self.subs[name].head = max(self.subs[name].head, head)
                self._ask_missing(socket)
            case "resync":
                self.seen.resyncs += 1
                await self._begin_anew(socket, frame["sub"])

    async def _subscribe(self, socket: ClientConnection, name: str, since: Mapping[str, Any] | None) -> None:
        sub = self.subs[name]
        sub.head, sub.ahead = sub.seq, {}
        ask: dict[str, Any] = {"type": "subscribe", "sub": name, "topic": sub.topic, "limit": sub.limit}
        await socket.send(json.dumps(ask | ({"since": since} if since else {})))

    async def _begin_anew(self, socket: ClientConnection, name: str) -> None:
        self.subs[name].fresh = False
        await self._subscribe(socket, name, None)

    def _ask_missing(self, socket: ClientConnection) -> None:
        if self._behind() and (self._asking is None or self._asking.done()):
            self._asking = asyncio.create_task(self._ask(socket))

    def _behind(self) -> list[str]:
        return [name for name, sub in self.subs.items() if sub.fresh and sub.head > sub.seq]

    async def _ask(self, socket: ClientConnection) -> None:
        """For what is missing, until nothing is."""
        with suppress(WebSocketException):
            while behind := self._behind():
                for name in behind:
                    self.seen.replays += 1
                    ask = {"type": "replay", "sub": name, "after": self.subs[name].seq}
                    await socket.send(json.dumps(ask))
                await asyncio.sleep(REPLAY_SECONDS)

    def _take_snapshot(self, sub: Sub, frame: dict[str, Any]) -> None:
        self.seen.snapshots += 1
        sub.seq, sub.fresh = frame["seq"], True
        sub.head, sub.ahead = sub.seq, {}
        for row in frame["jobs"]:
            self._show(row["revision"], row["job"])

    async def _take_event(self, socket: ClientConnection, frame: dict[str, Any]) -> None:
        name = frame["sub"]
        sub = self.subs[name]
        if not sub.fresh or frame["seq"] <= sub.seq:
            return
        sub.ahead[frame["seq"]] = frame["event"]
        if len(sub.ahead) > MOST_AHEAD:
            await self._begin_anew(socket, name)
            return
        while (event := sub.ahead.pop(sub.seq + 1, None)) is not None:
            sub.seq += 1
            self._apply(event)
        sub.head = max(sub.head, sub.seq, *sub.ahead)
        self._ask_missing(socket)

    def _apply(self, event: dict[str, Any]) -> None:
        self.seen.events += 1
        if event["name"] == "job_update":
            job = event["job"]
            self.seen.per_job[job["id"]] = self.seen.per_job.get(job["id"], 0) + 1
            self._show(event["revision"], job)
        elif event["name"] == "job_gone":
            self.picture.pop(event["id"], None)
        if self._on_event is not None:
            self._on_event(event, time.monotonic())

    def _show(self, revision: int, job: dict[str, Any]) -> None:
        known = self.picture.get(job["id"])
        if known is None or known[0] <= revision:
            self.picture[job["id"]] = (revision, job)
