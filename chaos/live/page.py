"""A client of the live feed that does what one must: keeps its place, asks for what it missed, comes back."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 1.0
SILENCE_SECONDS = 4.0
"""Beats come each second; after so long without any frame the connection is dead."""


@dataclass(slots=True)
class Sub:
    """How far one subscription is."""

    topic: str
    limit: int
    epoch: str = ""
    seq: int = -1
    fresh: bool = False
    asked: int = -1  # after which event a replay was asked for: what comes meanwhile is part of it


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
        self._socket: ClientConnection | None = None

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
                    self._socket = socket
                    self.seen.connections += 1
                    await self._listen(socket)
                    pause = FIRST_PAUSE
            except (OSError, WebSocketException, TimeoutError):
                pass
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
                    if self.subs[name].fresh and head > self.subs[name].seq:
                        await self._replay(socket, name)
            case "resync":
                self.seen.resyncs += 1
                self.subs[frame["sub"]].fresh = False
                await self._subscribe(socket, frame["sub"], None)

    async def _subscribe(self, socket: ClientConnection, name: str, since: Mapping[str, Any] | None) -> None:
        sub = self.subs[name]
        ask: dict[str, Any] = {"type": "subscribe", "sub": name, "topic": sub.topic, "limit": sub.limit}
        await socket.send(json.dumps(ask | ({"since": since} if since else {})))

    async def _replay(self, socket: ClientConnection, name: str) -> None:
        self.seen.replays += 1
        self.subs[name].asked = self.subs[name].seq
        await socket.send(json.dumps({"type": "replay", "sub": name, "after": self.subs[name].seq}))

    def _take_snapshot(self, sub: Sub, frame: dict[str, Any]) -> None:
        self.seen.snapshots += 1
        sub.seq, sub.fresh = frame["seq"], True
        for row in frame["jobs"]:
            self._show(row["revision"], row["job"])

    async def _take_event(self, socket: ClientConnection, frame: dict[str, Any]) -> None:
        name = frame["sub"]
        sub = self.subs[name]
        if not sub.fresh or frame["seq"] <= sub.seq:
            return
        if frame["seq"] > sub.seq + 1:
            if sub.asked != sub.seq:
                await self._replay(socket, name)
            return
        sub.seq = frame["seq"]
        self.seen.events += 1
        event = frame["event"]
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
