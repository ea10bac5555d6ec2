"""Tickets: half a minute and one use long, so that no password, cookie or token ever stands in an address."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from jobsplatform.kernel.models import AppToken
from tasks.live.credentials import Credential, Session, Token
from tasks.models import LiveTicket

SECONDS = 30
MOST_TOPICS = 100
_FORM = re.compile(r"[A-Za-z0-9_-]{43}\Z")


def for_session(session_key: str, user_id: str, topics: Sequence[str], now: datetime) -> str:
    """A ticket for whoever is logged in by this session; it is shown this once."""
    return _store(LiveTicket(user_id=user_id, session_key=session_key, topics=list(topics), **_times(now)))


def for_app(token: AppToken, user_id: str, topics: Sequence[str], now: datetime) -> str:
    """A ticket for a user of an app, or for the app itself when ``user_id`` is empty; it is shown this once."""
    return _store(LiveTicket(user_id=user_id, app=token.app, token=token, topics=list(topics), **_times(now)))


def redeem(text: str, now: datetime) -> Credential | None:
    """What the ticket stands for; None when it is unknown, used or too old. Nobody redeems it again."""
    if not _FORM.match(text):
        return None
    rows = LiveTicket.objects.filter(digest=_digest(text), used_at=None, expires_at__gt=now)
    # The update decides between two who come at once.
    if not rows.update(used_at=now):
        return None
    row = LiveTicket.objects.get(digest=_digest(text))
    if row.token_id is not None:
        return Token(row.token_id, row.user_id, tuple(row.topics))
    return Session(row.session_key, tuple(row.topics)) if row.session_key else None


def prune(now: datetime, batch: int = 1000) -> int:
    """Remove tickets that are past their time; how many."""
    old = LiveTicket.objects.filter(expires_at__lte=now).values_list("pk", flat=True)[:batch]
    return int(LiveTicket.objects.filter(pk__in=list(old)).delete()[0])


def _times(now: datetime) -> dict[str, datetime]:
    return {"created_at": now, "expires_at": now + timedelta(seconds=SECONDS)}


def _store(row: LiveTicket) -> str:
    text = secrets.token_urlsafe(32)
    row.digest = _digest(text)
    row.save(force_insert=True)
    return text


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
