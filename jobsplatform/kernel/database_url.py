"""``DATABASE_URL`` → what Django's DATABASES wants.

- ``sqlite:///relative/file``, ``sqlite:////absolute/file``, ``sqlite://:memory:``
- ``postgresql://user:password@host:5432/name?sslmode=require`` (``postgres://`` is the same); a Unix socket
  is a host beginning with ``/``, as ``?host=/run/postgresql`` or percent-encoded before the name.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from jobsplatform.kernel.errors import did_you_mean, nearest

CONNECTION_OPTIONS = frozenset(
    {"application_name", "connect_timeout", "keepalives", "keepalives_count", "keepalives_idle"}
    | {"keepalives_interval", "options", "passfile", "service", "target_session_attrs", "tcp_user_timeout"}
    | {
        "channel_binding",
        "gssencmode",
        "sslcert",
        "sslcrl",
        "sslkey",
        "sslmode",
        "sslpassword",
        "sslrootcert",
    }
)
"""Parameters of libpq that a URL may carry besides host, port, user, password and dbname."""

KEEP_SECONDS = 60
"""How long a thread's connection is used again; a loop would else open one each round."""

SCHEMES = ("postgresql", "postgres", "sqlite")


class DatabaseUrlError(ValueError):
    """The URL is wrong; the message says what was expected and never repeats a password."""


def parse(url: str) -> dict[str, Any]:
    """One entry of DATABASES. Raises DatabaseUrlError."""
    scheme, found, rest = url.partition("://")
    if not found or scheme not in SCHEMES:
        best = nearest(scheme, SCHEMES) if found else None
        hint = f" Did you mean {best}://?" if best else ""
        shown = f"{scheme}://…" if found else "no scheme"
        raise DatabaseUrlError(f"expected sqlite:///path or postgresql://host/name, got {shown}.{hint}")
    return _sqlite(rest) if scheme == "sqlite" else _postgresql(url)


def shown(url: str) -> str:
    """The URL (of a database, Redis or a broker) without its password, for messages and logs."""
    scheme, found, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    if not found or not at or ":" not in user:
        return url
    return f"{scheme}://{user.partition(':')[0]}:***@{host}{slash}{path}"


def _sqlite(rest: str) -> dict[str, Any]:
    if rest.lstrip("/") == ":memory:":
        name = ":memory:"
    elif rest.startswith("/") and len(rest) > 1:
        name = unquote(rest[1:])
    else:
        raise DatabaseUrlError(
            "expected sqlite:///relative/file or sqlite:////absolute/file (three or four slashes)."
        )
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": name,
        "CONN_MAX_AGE": KEEP_SECONDS,
        "OPTIONS": {
            # A read that becomes a write in a deferred transaction fails at once, whatever the timeout.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;",
        },
    }


def _postgresql(url: str) -> dict[str, Any]:
    try:
        parts = urlsplit(url)
        port: int | None = parts.port
        query = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError as error:
        raise DatabaseUrlError(f"expected postgresql://user:password@host:5432/name ({error}).") from None
    host = query.pop("host", None) or unquote(parts.hostname or "")
    name = query.pop("dbname", None) or unquote(parts.path.removeprefix("/"))
    if not name:
        raise DatabaseUrlError("expected a database name after the host: postgresql://host/name.")
    given_port = query.pop("port", None) or (str(port) if port else "")
    if given_port and not given_port.isdigit():
        raise DatabaseUrlError(f"expected a number as port, got {given_port!r}.")
    user = query.pop("user", None) or unquote(parts.username or "")
    password = query.pop("password", None) or unquote(parts.password or "")
    for option in query:
        if option not in CONNECTION_OPTIONS:
            raise DatabaseUrlError(f"unknown parameter {option!r}.{did_you_mean(option, CONNECTION_OPTIONS)}")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": user,
        "PASSWORD": password,
        "HOST": host,
        "PORT": given_port,
        "CONN_MAX_AGE": KEEP_SECONDS,
        "CONN_HEALTH_CHECKS": True,
        # A transaction pooler gives each transaction another server session: no cursor outlives one.
        "DISABLE_SERVER_SIDE_CURSORS": True,
        "OPTIONS": {"connect_timeout": 5, "keepalives_idle": 30, "keepalives_interval": 10, **query},
    }
