"""The WebSocket at /live/ws: who may come in, and frames back and forth."""

from __future__ import annotations

import asyncio

from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import DatabaseError

from jobsplatform.kernel import clock
from tasks.live import frames, hub, tickets
from tasks.live.connection import Connection, refusal_of
from tasks.live.counts import COUNTS
from tasks.live.credentials import Credential, Session
from tasks.live.facts import dumps
from tasks.live.gate import Door, door_of
from tasks.live.manners import Manners
from tasks.live.refusals import Refused
from tasks.live.schema import VERSION
from tasks.live.viewer import Viewer

HOSTILE = 4400
SIGNED_OUT = hub.SIGNED_OUT
FOREIGN = 4403
AWAY = 1013
"""Try again later: the database does not answer."""


def _gone(error: Exception) -> bool:
    """Does it mean that the client has left? The server says so in two ways, one of them by refusing our frame."""
    return isinstance(error, OSError) or "websocket." in str(error)


class LiveConsumer(AsyncWebsocketConsumer):
    """One client. It is let in by its session, when its page is ours, or by a ticket, wherever its page is from."""

    connection: Connection | None = None

    async def connect(self) -> None:
        door = self._door = door_of(self.scope)
        if door.ticket is None and not door.own_page:
            self._refused("origin", door)
            await self.close(FOREIGN)
            return
        self._hub, self._manners = hub.current(), Manners()
        with self._hub.visited():
            try:
                await self._come_in(door)
            except (OSError, RuntimeError) as error:
                if not _gone(error):
                    raise

    async def _come_in(self, door: Door) -> None:
        try:
            credential = await self._credential(door)
            viewer = None if credential is None else await self._hub.viewer(credential)
        except DatabaseError:
            await self._turn_away(AWAY)
            return
        if credential is None or viewer is None:
            self._refused("signed_out", door)
            await self._turn_away(SIGNED_OUT)
            return
        await self._let_in(credential, viewer)

    async def _turn_away(self, code: int) -> None:
        # Accepted first: a browser learns the reason only then.
        await self.accept()
        await self.close(code)

    async def _let_in(self, credential: Credential, viewer: Viewer) -> None:
        await self.accept()
        hello = {
            "type": "hello",
            "version": VERSION,
            "epoch": self._hub.epoch,
            "beat_seconds": hub.BEAT_SECONDS,
        }
        await self.send(dumps(hello))
        self.connection = Connection(self._hub, credential, viewer, self.send, self._end)
        self._hub.attach(self.connection)
        self._writer = asyncio.create_task(self._write(self.connection))

    async def _credential(self, door: Door) -> Credential | None:
        if door.ticket is not None:
            return await self._hub.asks.ask(tickets.redeem, door.ticket, clock.now())
        return Session(door.session_key) if door.session_key else None

    async def _write(self, connection: Connection) -> None:
        try:
            await connection.write()
        except (OSError, RuntimeError) as error:
            if not _gone(error):
                raise

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        connection = self.connection
        if connection is None:
            return
        try:
            self._manners.heard(self._hub.time())
            if text_data is None:
                raise Refused("MALFORMED", "Expected text frames.")
            await connection.handle(frames.read(text_data))
        except Refused as refused:
            await self._refuse(connection, text_data or "", refused)
        except DatabaseError:
            await self._refuse(
                connection,
                text_data or "",
                Refused("UNAVAILABLE", "The database does not answer; ask again."),
            )

    async def _refuse(self, connection: Connection, text: str, refused: Refused) -> None:
        if self._manners.refused(self._hub.time()):
            self._refused("hostile", self._door)
            self._end(HOSTILE)
            return
        await connection.reply(refusal_of(text, refused))

    def _refused(self, why: str, door: Door) -> None:
        COUNTS.refused += 1
        door.tell_refused(why)

    def _end(self, code: int) -> None:
        """Close from wherever we are, even while a frame cannot be sent."""
        if self.connection is not None:
            self._hub.detach(self.connection)
            self._writer.cancel()
            self._closing = asyncio.create_task(self._close(code))

    async def _close(self, code: int) -> None:
        try:
            await self.close(code)
        except (OSError, RuntimeError) as error:
            if not _gone(error):
                raise

    async def disconnect(self, code: int) -> None:
        if self.connection is not None:
            self._hub.detach(self.connection)
            self._writer.cancel()
        raise StopConsumer
