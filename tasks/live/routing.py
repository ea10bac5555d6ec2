"""Which WebSocket goes where: ``tasks.live.routing.application`` belongs into a project's ASGI entry."""

from __future__ import annotations

from typing import Any

from tasks.live.consumer import LiveConsumer

PATH = "/live/ws"
NO_SUCH_PLACE = 4404

_live = LiveConsumer.as_asgi()


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """The live feed; every other address is closed with 4404."""
    path = scope.get("path", "").removeprefix(scope.get("root_path", ""))
    if path.rstrip("/") == PATH:
        await _live(scope, receive, send)
        return
    await receive()
    await send({"type": "websocket.close", "code": NO_SUCH_PLACE})
