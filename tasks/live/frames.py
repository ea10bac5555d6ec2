"""Frames of clients, read strictly. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tasks.live.plain import all_plain, is_plain
from tasks.live.refusals import Refused

LARGEST = 16_384
"""Characters of a frame."""

LONGEST_SUB = 100
MOST_JOBS = 1000
"""A snapshot has no more jobs, whatever is asked for."""
USUAL_JOBS = 50


@dataclass(frozen=True, slots=True)
class Since:
    """The last event that a client has of a topic."""

    epoch: str
    seq: int


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Hear of ``topic`` from now on. ``after_event``: also what apps have told after this event."""

    sub: str
    topic: str
    snapshot: bool
    limit: int
    since: Since | None
    after_event: int | None


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """Hear no more of it."""

    sub: str


@dataclass(frozen=True, slots=True)
class Replay:
    """The events after ``after`` again."""

    sub: str
    after: int


@dataclass(frozen=True, slots=True)
class Ping:
    """Is somebody there?"""


Frame = Subscribe | Unsubscribe | Replay | Ping


def read(text: str) -> Frame:
    """A frame of a client. Raises Refused."""
    if len(text) > LARGEST:
        raise Refused("TOO_LARGE", f"A frame has at most {LARGEST} characters.")
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise Refused("MALFORMED", "Expected a JSON object.") from None
    if not isinstance(given, dict):
        raise Refused("MALFORMED", "Expected a JSON object.")
    if not all_plain(given):
        raise Refused("INVALID", "Expected text without NUL and without halves of characters.")
    kind = given.pop("type", None)
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        raise Refused("UNKNOWN_TYPE", f"type: expected one of {', '.join(_READERS)}.")
    fields = _Fields(given)
    frame: Frame = reader(fields)
    fields.end()
    return frame


def sub_of(text: str) -> str | None:
    """The name that a refused frame gave its subscription, if it did."""
    try:
        sub = json.loads(text[:LARGEST]).get("sub")
    except (ValueError, RecursionError, AttributeError):
        return None
    return sub if isinstance(sub, str) and len(sub) <= LONGEST_SUB and is_plain(sub) else None


class _Fields:
    """The fields of a frame, each asked for by name; what is left over at the end was not known."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = dict(given)

    def text(self, name: str, longest: int) -> str:
        value = self._given.pop(name, None)
        if not isinstance(value, str) or not 0 < len(value) <= longest:
            raise Refused("INVALID", f"{name}: expected a text of 1 to {longest} characters.")
        return value

    def number(self, name: str, default: int | None, least: int, most: int) -> int:
        value = self._given.pop(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise Refused("INVALID", f"{name}: expected a whole number from {least} to {most}.")
        return value

    def truth(self, name: str, default: bool) -> bool:
        value = self._given.pop(name, default)
        if not isinstance(value, bool):
            raise Refused("INVALID", f"{name}: expected true or false.")
        return value

    def since(self) -> Since | None:
        value = self._given.pop("since", None)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise Refused("INVALID", "since: expected {epoch, seq}.")
        fields = _Fields(value)
        since = Since(fields.text("epoch", 64), fields.number("seq", None, 0, 2**53))
        fields.end()
        return since

    def event_id(self) -> int | None:
        value = self._given.pop("after_event", None)
        if value is None:
            return None
        if not isinstance(value, str) or not value.isascii() or not value.isdigit() or len(value) > 18:
            raise Refused("INVALID", "after_event: expected the id of an app_entity, as text.")
        return int(value)

    def end(self) -> None:
        if self._given:
            name = next(iter(self._given))
            raise Refused("INVALID", f"{name[:60]}: unknown field.")


def _subscribe(fields: _Fields) -> Subscribe:
    return Subscribe(
        fields.text("sub", LONGEST_SUB),
        fields.text("topic", 400),
        fields.truth("snapshot", True),
        min(MOST_JOBS, fields.number("limit", USUAL_JOBS, 1, 2**31)),
        fields.since(),
        fields.event_id(),
    )


_READERS: dict[str, Any] = {
    "subscribe": _subscribe,
    "unsubscribe": lambda fields: Unsubscribe(fields.text("sub", LONGEST_SUB)),
    "replay": lambda fields: Replay(fields.text("sub", LONGEST_SUB), fields.number("after", None, 0, 2**53)),
    "ping": lambda fields: Ping(),
}
