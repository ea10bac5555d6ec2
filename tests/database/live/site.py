"""The web process of a test, and pages that listen to it over ASGI."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import Permission, User
from django.test import Client

from jobsplatform import asgi
from tasks.live import hub
from tasks.live.desk import Desk

T = TypeVar("T")
PATIENCE = 10.0
WHOLE_PATIENCE = 25.0
"""A page is sent a beat each second, so that it never waits long for any frame."""

HOST = "localhost"


def person(name: str, *permissions: str, staff: bool = False) -> tuple[User, str]:
    """A user with these permissions, and the key of a session of theirs."""
    user = User.objects.create_user(name, is_staff=staff)
    for each in permissions:
        app, _, codename = each.partition(".")
        user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
    client = Client()
    client.force_login(user)
    return user, client.session.session_key or ""


def admin() -> str:
    """The session of somebody who sees everything."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client.session.session_key or ""


class Page:
    """A client that keeps every frame it was sent."""

    def __init__(self, socket: ApplicationCommunicator) -> None:
        self.socket = socket
        self.frames: list[dict[str, Any]] = []
        self.closed: int | None = None

    async def send(self, **frame: Any) -> None:
        await self.say(json.dumps(frame))

    async def say(self, text: str | None, data: bytes | None = None) -> None:
        message = {"text": text} if data is None else {"bytes": data}
        await self.socket.send_input({"type": "websocket.receive", **message})

    async def connect(self) -> int | None:
        """None when it was let in, else the code that it was turned away with before it was."""
        await self.socket.send_input({"type": "websocket.connect"})
        answer = await self.socket.receive_output(timeout=PATIENCE)
        return None if answer["type"] == "websocket.accept" else answer.get("code", 1000)

    async def leave(self) -> None:
        await self.socket.send_input({"type": "websocket.disconnect", "code": 1001})
        await self.socket.wait(timeout=PATIENCE)

    async def next(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next frame that is wanted; those before it are kept in ``frames``."""
        async with asyncio.timeout(WHOLE_PATIENCE):
            while True:
                frame = await self._one()
                if wanted(frame):
                    return frame

    async def _one(self) -> dict[str, Any]:
        message = await self.socket.receive_output(timeout=PATIENCE)
        if message["type"] == "websocket.close":
            self.closed = message.get("code", 1000)
            raise ConnectionError(f"closed with {self.closed}")
        frame: dict[str, Any] = json.loads(message["text"])
        self.frames.append(frame)
        return frame

    async def subscribe(self, topic: str, sub: str = "s", **more: Any) -> dict[str, Any]:
        """Its snapshot, or the error."""
        await self.send(type="subscribe", sub=sub, topic=topic, **more)
        return await self.next(
            lambda frame: frame["type"] in ("snapshot", "error") and frame.get("sub") == sub
        )

    async def event(self, name: str = "job_update", **facts: Any) -> dict[str, Any]:
        """The next event of this name with these facts (of its job, or its own)."""

        def fits(frame: dict[str, Any]) -> bool:
            if frame["type"] != "event" or frame["event"]["name"] != name:
                return False
            found = frame["event"].get("job", frame["event"])
            return all(found.get(key) == value for key, value in facts.items())

        return await self.next(fits)

    async def end(self) -> int:
        """The code that it is closed with."""
        with contextlib.suppress(ConnectionError):
            await self.next(lambda frame: False)
        assert self.closed is not None
        return self.closed

    def events(self) -> list[dict[str, Any]]:
        return [frame["event"] for frame in self.frames if frame["type"] == "event"]


class Site:
    """The process: its pages, and a thread for what a test does to the rows."""

    def __init__(self) -> None:
        self._desk = Desk("test")
        self._pages: list[Page] = []

    async def do(self, fn: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        return await self._desk.ask(fn, *args, **kwargs)

    def socket(self, session: str = "", *, ticket: str = "", origin: str | None = f"http://{HOST}") -> Any:
        headers = [(b"host", HOST.encode())]
        if origin is not None:
            headers.append((b"origin", origin.encode("latin-1")))
        if session:
            headers.append((b"cookie", f"sessionid={session}".encode()))
        scope = {
            "type": "websocket",
            "scheme": "ws",
            "path": "/live/ws",
            "query_string": f"ticket={ticket}".encode() if ticket else b"",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "subprotocols": [],
        }
        return ApplicationCommunicator(asgi.application, scope)

    async def page(self, session: str = "", **how: Any) -> Page:
        """A page that was let in, after its hello."""
        page = Page(self.socket(session, **how))
        assert await page.connect() is None
        self._pages.append(page)
        await page.next(lambda frame: frame["type"] == "hello")
        return page

    async def close(self) -> None:
        for page in self._pages:
            with contextlib.suppress(asyncio.CancelledError, TimeoutError):
                await page.leave()
        await hub.stop()
        self._desk.close()


@contextlib.asynccontextmanager
async def site() -> AsyncIterator[Site]:
    made = Site()
    try:
        yield made
    finally:
        await made.close()


def run(story: Callable[[Site], Coroutine[Any, Any, T]]) -> T:
    """Tell a story in a process of its own loop."""

    async def told() -> T:
        async with site() as made:
            return await story(made)

    return asyncio.run(told())
