"""Who calls: the app of a token, and nothing else in the request, says it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from jobsplatform.kernel import clock, events, quotas, tokens
from jobsplatform.kernel.app_events import AppsChanged
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.models import AppToken
from jobsplatform.kernel.quotas import Quotas
from tasks.bus import guesses
from tasks.bus.errors import Refusal, rate_limited, unauthenticated

MOST_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Caller:
    """A good token and its app."""

    app_id: str
    token_id: UUID
    token_name: str
    scopes: frozenset[str]
    enabled: bool
    quotas: Quotas
    expires_at: datetime | None

    def actor(self, address: str = "") -> Actor:
        """For the audit trail: the token by its name and id, never by what is secret of it."""
        name = f"{self.token_name} ({self.token_id})" if self.token_name else str(self.token_id)
        return Actor(name, "bus", ip=address, app_id=self.app_id)


@dataclass(frozen=True, slots=True)
class _Kept:
    caller: Caller
    at: float  # monotonic, when the row was read


_kept: dict[str, _Kept] = {}
_used: dict[UUID, float] = {}
_changing = threading.Lock()


def authenticate(header: str, address: str) -> Caller:
    """The caller by an Authorization header. Raises Refusal: UNAUTHENTICATED, APP_DISABLED, and
    RATE_LIMITED for an address that has tried many wrong tokens."""
    scheme, _, text = header.partition(" ")
    text = text.strip()
    if scheme.lower() != "bearer" or tokens.public_id(text) is None:
        raise unauthenticated()
    digest = tokens.digest_of(text)
    kept = _kept.get(digest)
    if kept is None or clock.monotonic() - kept.at >= tokens.TRUST_SECONDS:
        kept = _ask(text, digest, address)
    caller = kept.caller
    if caller.expires_at is not None and caller.expires_at <= clock.now():
        raise unauthenticated()
    if not caller.enabled:
        raise Refusal("APP_DISABLED", "The app is disabled; an operator can enable it in the admin.")
    return caller


def _ask(text: str, digest: str, address: str) -> _Kept:
    at, now = clock.monotonic(), clock.now()
    # A token that was good here lately is none of the guesses, wherever it comes from.
    wait = 0.0 if tokens.public_id(text) in _used else guesses.closed_for(address)
    if wait:
        raise rate_limited("wrong tokens", quotas.retry_after(wait))
    token = tokens.find(text, now)
    if token is None:
        _kept.pop(digest, None)
        guesses.note(address)
        raise unauthenticated()
    kept = _Kept(_caller(token), at)
    with _changing:
        if len(_kept) >= MOST_KEPT:
            _kept.clear()
        _kept[digest] = kept
    last = _used.get(token.pk)
    if last is None or at - last >= tokens.USE_SECONDS:
        if len(_used) >= MOST_KEPT:
            _used.clear()
        tokens.note_use(token, address, now)
        _used[token.pk] = at
    return kept


def _caller(token: AppToken) -> Caller:
    app = token.app
    return Caller(
        app_id=app.app_id,
        token_id=token.pk,
        token_name=token.name,
        scopes=frozenset(token.scopes),
        enabled=app.enabled,
        quotas=Quotas.of(app.quotas),
        expires_at=token.expires_at,
    )


def forget(_: object = None) -> None:
    """Ask anew for every token. Other processes do so by themselves, within ``tokens.TRUST_SECONDS``."""
    with _changing:
        _kept.clear()


events.subscribe(AppsChanged, forget)
