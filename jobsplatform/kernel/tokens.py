"""Tokens of apps: ``jp_<public>_<secret>``. The public part is the row's id; of the whole only a hash is stored.

A token is shown once, when it is made. Whoever keeps answers of this module must ask anew after ``TRUST_SECONDS``,
so that a revoked token is refused everywhere within five seconds.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from jobsplatform.kernel import audit
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.errors import InvalidInput, UnknownName
from jobsplatform.kernel.ids import uuid7
from jobsplatform.kernel.models import App, AppToken

SCOPES = {
    "jobs:create": "create jobs",
    "jobs:read": "read its jobs, their progress and their events",
    "jobs:cancel": "cancel its jobs",
    "jobs:run": "run its jobs: register handlers, fetch jobs, report progress and endings",
    "jobs:manage": "act on many jobs at once",
    "events:emit": "tell events to users",
    "external:write": "show work that is done elsewhere",
}
"""What a token may be allowed to do, and what that means."""

TRUST_SECONDS = 3.0
"""How long a token that was found good may be taken for good without asking again."""

USE_SECONDS = 60.0
"""The last use of a token is written no more often than this."""

NAME_LENGTH = 100

_FORM = re.compile(r"jp_([0-9a-f]{32})_[A-Za-z0-9_-]{43}\Z")
_ANYWHERE = re.compile(r"(jp_[0-9a-f]{32})_[A-Za-z0-9_-]+")
_NOBODY = hashlib.sha256(b"nobody").hexdigest()


def mint(
    app: App,
    *,
    name: str,
    scopes: Iterable[str],
    expires_at: datetime | None,
    actor: Actor,
    now: datetime,
) -> tuple[AppToken, str]:
    """Make a token: its row and, this once, its text. ``expires_at``: an aware instant; None never expires.

    Raises UnknownName for an unknown scope, InvalidInput for none, a past expiry or a name too long.
    """
    wanted = read_scopes(scopes)
    if expires_at is not None and expires_at <= now:
        raise InvalidInput(f"The token would have expired already, at {expires_at.isoformat()}.")
    if len(name) > NAME_LENGTH or not name.isprintable():
        raise InvalidInput(
            f"The name of a token has at most {NAME_LENGTH} characters, all printable; got {len(name)}."
        )
    public = uuid7()
    text = f"jp_{public.hex}_{secrets.token_urlsafe(32)}"
    with transaction.atomic():
        token = AppToken.objects.create(
            id=public,
            app=app,
            name=name,
            digest=digest_of(text),
            scopes=wanted,
            created_at=now,
            created_by=actor.name[:150],
            expires_at=expires_at,
        )
        audit.record("token.create", "token", token.id, actor=actor, after=facts(token), app_id=app.app_id)
    return token, text


def read_scopes(scopes: Iterable[str]) -> list[str]:
    """Scopes in their own order, each once. Raises UnknownName with the nearest, InvalidInput for none."""
    given = set(scopes)
    for scope in sorted(given):
        if scope not in SCOPES:
            raise UnknownName("scope", scope, SCOPES)
    if not given:
        raise InvalidInput(f"A token needs at least one scope: {', '.join(SCOPES)}.")
    return [scope for scope in SCOPES if scope in given]


def digest_of(text: str) -> str:
    """What is stored of a token. Its secret has 256 random bits: a slow hash would add nothing."""
    return hashlib.sha256(text.encode()).hexdigest()


def public_id(text: str) -> UUID | None:
    """The id in a token's text; None for what has not the form of one."""
    found = _FORM.match(text)
    return UUID(found[1]) if found else None


def masked(text: str) -> str:
    """A text without the secrets of tokens that stand in it; their public parts stay."""
    return _ANYWHERE.sub(r"\1_***", text)


def find(text: str, now: datetime) -> AppToken | None:
    """The token of this text, with its app; None when it is unknown, expired or revoked."""
    public = public_id(text)
    if public is None:
        return None
    token = AppToken.objects.select_related("app").filter(pk=public).first()
    # Compared in any case, and in the same time wherever they begin to differ.
    same = hmac.compare_digest(token.digest if token else _NOBODY, digest_of(text))
    return token if token is not None and same and stands(token, now) else None


def stands(token: AppToken, now: datetime) -> bool:
    """Neither revoked nor expired? Whether its app is enabled is another question."""
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


def still_stands(token_id: UUID, now: datetime) -> bool:
    """The same by a look at the row, and its app is enabled: for those who hold a connection open."""
    return (
        AppToken.objects.filter(pk=token_id, revoked_at__isnull=True, app__enabled=True)
        .filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now))
        .exists()
    )


def revoke(token_id: UUID, *, actor: Actor, now: datetime) -> bool:
    """Refuse the token from now on, everywhere within five seconds. False: it was revoked before, or never was."""
    with transaction.atomic():
        token = (
            AppToken.objects.select_related("app").select_for_update(of=("self",)).filter(pk=token_id).first()
        )
        if token is None or token.revoked_at is not None:
            return False
        before = facts(token)
        token.revoked_at, token.revoked_by = now, actor.name[:150]
        token.save(update_fields=["revoked_at", "revoked_by"])
        audit.record(
            "token.revoke",
            "token",
            token.id,
            actor=actor,
            before=before,
            after=facts(token),
            app_id=token.app.app_id,
        )
    return True


def note_use(token: AppToken, address: str, now: datetime) -> None:
    """Write down that it was used, by whom last, and that its app was seen; at most once in ``USE_SECONDS``."""
    since = now - timedelta(seconds=USE_SECONDS)
    AppToken.objects.filter(Q(last_used_at__isnull=True) | Q(last_used_at__lt=since), pk=token.pk).update(
        last_used_at=now, last_used_ip=address[:45]
    )
    App.objects.filter(Q(last_seen__isnull=True) | Q(last_seen__lt=since), pk=token.app_id).update(
        last_seen=now
    )


def facts(token: AppToken) -> dict[str, object]:
    """What may be told of a token: everything but its hash."""
    return {
        "id": str(token.id),
        "app_id": token.app.app_id,
        "name": token.name,
        "scopes": list(token.scopes),
        "expires_at": token.expires_at.isoformat() if token.expires_at else None,
        "revoked_at": token.revoked_at.isoformat() if token.revoked_at else None,
    }
