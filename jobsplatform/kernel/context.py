"""Who and what the current work belongs to: carried from the request into the job and its log lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from typing import Any

from jobsplatform.kernel.ids import uuid7

REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=@-]{0,99}\Z")
"""What a request id from outside may look like: it goes into log lines and rows."""

TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?\Z")


@dataclass(frozen=True, slots=True)
class Context:
    """Frozen facts; empty text where unknown. ``traceparent`` is W3C Trace Context's header."""

    request_id: str = ""
    traceparent: str = ""
    tenant_id: str = ""
    user_id: str = ""
    method: str = ""
    route: str = ""

    def log_facts(self) -> dict[str, str]:
        """What each log line inside carries: the facts that are known."""
        if self is _NOTHING:
            return {}
        facts = {
            "request_id": self.request_id,
            "trace_id": self.trace_id,
            "tenant_id": self.tenant_id,
            "user_id": self.user_id,
            "method": self.method,
            "route": self.route,
        }
        return {name: value for name, value in facts.items() if value}

    @property
    def trace_id(self) -> str:
        """The 32 hex digits of the trace, or empty."""
        return self.traceparent[3:35]

    def as_dict(self) -> dict[str, str]:
        """For a JSON column; empty facts are left out."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Context:
        """Back from a JSON column; names it does not know are left aside."""
        known = {name: str(stored[name]) for name in cls.__dataclass_fields__ if stored.get(name)}
        return cls(**known)


_NOTHING = Context()

_current: ContextVar[Context] = ContextVar("jobsplatform_context", default=_NOTHING)


def current() -> Context:
    """The context in force."""
    return _current.get()


@contextmanager
def bind(**facts: str) -> Iterator[Context]:
    """Add facts for a block; every log line inside carries them."""
    with use(replace(current(), **facts)) as context:
        yield context


@contextmanager
def fresh(**facts: str) -> Iterator[Context]:
    """A context of its own for background work: nothing of the outer one is inherited.

    A request id and a trace are made unless given.
    """
    facts.setdefault("request_id", new_request_id())
    facts.setdefault("traceparent", new_traceparent())
    with use(Context(**facts)) as context:
        yield context


class use:  # noqa: N801 (it reads as a verb; a generator would cost each run three times as much)
    """Put ``context`` in force for a block, as it was frozen into a job's row.

    It replaces the outer one as a whole: what it leaves empty does not shine through.
    """

    __slots__ = ("_context", "_token")

    def __init__(self, context: Context) -> None:
        self._context = context

    def __enter__(self) -> Context:
        self._token = _current.set(self._context)
        return self._context

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


def new_request_id() -> str:
    """An id for a request that brought none."""
    return uuid7().hex


def sane_request_id(given: str | None) -> str:
    """The id from outside when it is short and plain, else a new one."""
    return given if given and REQUEST_ID.match(given) else new_request_id()


def new_traceparent() -> str:
    """The start of a trace that is not sampled by anyone yet (version 00)."""
    return f"00-{_random_hex(16)}-{_random_hex(8)}-01"


def child_traceparent(parent: str | None) -> str:
    """A new span of the trace that ``parent`` names; a new trace when it is missing or malformed.

    Follows W3C Trace Context level 1, section 3.2: zeros and version ``ff`` are invalid, and versions after
    00 may carry more fields.
    """
    found = TRACEPARENT.match(parent or "")
    if not found:
        return new_traceparent()
    version, trace, span, flags, more = found.groups()
    if version == "ff" or not trace.strip("0") or not span.strip("0") or (version == "00" and more):
        return new_traceparent()
    return f"00-{trace}-{_random_hex(8)}-{flags}"


def _random_hex(size: int) -> str:
    while True:
        value = os.urandom(size)
        if any(value):
            return value.hex()
