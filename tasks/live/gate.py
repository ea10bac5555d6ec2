"""What a handshake brings along: where its page is from, a cookie or a ticket; and a line for whoever is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import structlog
from django.conf import settings  # noqa: TID251 (hosts, origins and cookies are the project's own)
from django.http import parse_cookie
from django.http.request import split_domain_port, validate_host

from jobsplatform.kernel import clock
from tasks.live import origin
from tasks.live.line_limit import LineLimit

log = structlog.get_logger("jobsplatform.live")

LOCAL_HOSTS = [".localhost", "127.0.0.1", "[::1]"]
_SHOWN = 120

_lines = LineLimit()


@dataclass(frozen=True, slots=True)
class Door:
    """``own_page``: the page is from this site or one that the settings trust; ``ticket``: None when none was sent."""

    own_page: bool
    session_key: str
    ticket: str | None
    origin: str
    address: str

    def tell_refused(self, why: str) -> None:
        """One line in the log, or one a minute for many."""
        left_out = _lines.allows(why, self.origin, clock.monotonic())
        if left_out is not None:
            log.warning("live.refused", why=why, origin=self.origin, address=self.address, not_told=left_out)


def door_of(scope: dict[str, Any]) -> Door:
    """Read a handshake."""
    headers = scope.get("headers", [])
    origins = _all(headers, b"origin")
    tickets = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("ticket")
    cookies = parse_cookie("; ".join(_all(headers, b"cookie")))
    client = scope.get("client") or ("",)
    return Door(
        own_page=_own_page(origins, _all(headers, b"host"), scope.get("scheme") == "wss"),
        session_key=cookies.get(settings.SESSION_COOKIE_NAME, ""),
        ticket=tickets[0] if tickets else None,
        origin=ascii(", ".join(origins))[1:-1][:_SHOWN],
        address=str(client[0])[:45],
    )


def _all(headers: list[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key.lower() == name]


def _own_page(origins: list[str], hosts: list[str], secure: bool) -> bool:
    host = hosts[0] if len(hosts) == 1 else ""
    known = list(settings.ALLOWED_HOSTS) or (LOCAL_HOSTS if settings.DEBUG else [])
    name, _ = split_domain_port(host)
    ours = host if name and validate_host(name, known) else ""
    return origin.allowed(origins, ours, secure=secure, trusted=settings.CSRF_TRUSTED_ORIGINS)
