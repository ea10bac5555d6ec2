"""By what somebody is let in, and whether that still holds: a session, or a ticket that was bought with one or with an
app's token. Looked at again every two seconds, for all connections at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import Any
from uuid import UUID

from django.conf import settings  # noqa: TID251 (sessions and log-in are the project's own)
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.db.models import Q
from django.utils.crypto import constant_time_compare

from jobsplatform.kernel.models import AppToken
from tasks.live.viewer import Viewer

READ = "jobs:read"


@dataclass(frozen=True, slots=True)
class Session:
    """The cookie of somebody who is logged in. ``topics``: only these, when a ticket was bought with it."""

    key: str
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Token:
    """A ticket that an app has bought for one of its users, or for itself (no ``user_id``)."""

    token_id: UUID
    user_id: str
    topics: tuple[str, ...] = ()


Credential = Session | Token


def viewers(credentials: Collection[Credential], now: datetime) -> dict[Credential, Viewer]:
    """Whom each credential lets in, as of now; those that let in nobody are missing."""
    sessions = [one for one in credentials if isinstance(one, Session)]
    tokens = [one for one in credentials if isinstance(one, Token)]
    # PostgreSQL refuses a question with NUL in it; no session has one.
    users = _users_of({one.key for one in sessions if "\x00" not in one.key}, now) if sessions else {}
    found: dict[Credential, Viewer] = {}
    seen: dict[Any, Viewer] = {}
    for one in sessions:
        user = users.get(one.key)
        if user is not None:
            viewer = seen.setdefault(user.pk, _viewer(user)) if user.pk not in seen else seen[user.pk]
            found[one] = _only(viewer, one.topics)
    apps = _apps_of({one.token_id for one in tokens}, now) if tokens else {}
    for ticket in tokens:
        if ticket.token_id in apps:
            found[ticket] = Viewer(user_id=ticket.user_id, app_id=apps[ticket.token_id], topics=ticket.topics)
    return found


def viewer(credential: Credential, now: datetime) -> Viewer | None:
    """Whom it lets in; None: nobody."""
    return viewers([credential], now).get(credential)


def _only(whole: Viewer, topics: tuple[str, ...]) -> Viewer:
    if not topics:
        return whole
    return Viewer(whole.user_id, None, whole.sees_jobs, whole.sees_payload, whole.sees_schedules, topics)


def _viewer(user: Any) -> Viewer:
    staff = bool(user.is_staff)
    return Viewer(
        user_id=str(user.pk),
        sees_jobs=staff and user.has_perm("tasks.view_job"),
        sees_payload=staff and user.has_perm("tasks.view_payload"),
        sees_schedules=staff and user.has_perm("scheduler.view_schedule"),
    )


# -- sessions --------------------------------------------------------------------------------------


def _users_of(keys: Collection[str], now: datetime) -> dict[str, Any]:
    """The user of each session that stands."""
    held = {key: data for key, data in _sessions(keys, now) if _backend_known(data)}
    model = get_user_model()
    ids = {}
    for key, data in held.items():
        try:
            ids[key] = model._meta.pk.to_python(data[SESSION_KEY])
        except Exception:  # noqa: S112,BLE001 (a session that holds no id is nobody's; which error says so is the key's)
            continue
    users = {
        user.pk: user for user in model._default_manager.filter(pk__in=set(ids.values()), is_active=True)
    }
    return {
        key: users[ids[key]]
        for key in ids
        if ids[key] in users and _hash_holds(users[ids[key]], held[key].get(HASH_SESSION_KEY) or "")
    }


def _sessions(keys: Collection[str], now: datetime) -> Iterable[tuple[str, dict[str, Any]]]:
    store = import_module(settings.SESSION_ENGINE).SessionStore
    if not hasattr(store, "get_model_class"):
        for key in keys:
            yield key, store(key).load()
        return
    # Sessions that lie in the database are read together; a cache in front of it might still have one that is gone.
    rows = store.get_model_class().objects.filter(session_key__in=keys, expire_date__gt=now)
    for row in rows:
        yield row.session_key, store(row.session_key).decode(row.session_data)


def _backend_known(data: dict[str, Any]) -> bool:
    return SESSION_KEY in data and data.get(BACKEND_SESSION_KEY) in settings.AUTHENTICATION_BACKENDS


def _hash_holds(user: Any, stored: str) -> bool:
    """A changed password ends all sessions of before."""
    good = [user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()]
    return any(constant_time_compare(stored, one) for one in good)


# -- tokens ----------------------------------------------------------------------------------------


def _apps_of(ids: Collection[UUID], now: datetime) -> dict[UUID, str]:
    """The app of each token that stands and may still read."""
    rows = AppToken.objects.filter(pk__in=ids, revoked_at=None, app__enabled=True)
    rows = rows.filter(Q(expires_at=None) | Q(expires_at__gt=now))
    return {pk: app for pk, app, scopes in rows.values_list("pk", "app__app_id", "scopes") if READ in scopes}
