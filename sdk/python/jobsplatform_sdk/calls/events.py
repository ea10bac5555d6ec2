"""The ``events`` service: something of the app's own, told to one user's pages."""

from __future__ import annotations

from typing import Any

from jobsplatform_sdk.calls.call import Call


def emit(user_id: str, kind: str, payload: Any = None, *, scope: str = "") -> Call[str]:
    """Send an ``app_entity`` event to the pages of one user; its id."""
    body = {"user_id": user_id, "kind": kind, "scope": scope, "payload": payload}
    return Call("events.emit", body, lambda answer: str(answer["id"]), repeatable=False)
