"""Logging in, with a limit on guesses.

Failed logins are audit events, and the limit counts those: it holds in every process and after a restart.
A name is only closed to the address that guessed, so that a stranger cannot lock an operator out; an address
that tries many names is closed for all of them. Behind a proxy, the web server must be told to take the
visitor's address from it (uvicorn: ``--proxy-headers``), else all visitors are one address.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from jobsplatform.kernel import audit, clock
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.models import AuditEvent

WINDOW = timedelta(minutes=5)
PER_NAME = 10
"""Failures of one name from one address within the window."""
PER_ADDRESS = 50
"""Failures of any names from one address within the window."""

FAILED = "login.failed"


class LimitedBackend(ModelBackend):
    """Django's own users; too many failures close the door for the rest of the window."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **rest: Any,
    ) -> Any:
        """The user, or None. Raises PermissionDenied, without looking at the password, when closed."""
        if request is None:
            return super().authenticate(request, username=username, password=password, **rest)
        name, address = str(username or "")[:150].replace("\x00", ""), address_of(request)
        if closed(name, address):
            raise PermissionDenied("Too many failed logins; wait some minutes.")
        # PostgreSQL refuses a query with NUL in it; no name has one.
        askable = username is None or "\x00" not in username
        user = (
            super().authenticate(request, username=username, password=password, **rest) if askable else None
        )
        if user is None:
            audit.record(FAILED, "login", name, actor=Actor(name, "user", ip=address), error="refused")
        return user


def closed(name: str, address: str) -> bool:
    """Has this address failed too often, with this name or with any?"""
    recent = AuditEvent.objects.filter(action=FAILED, ip=address, at__gt=clock.now() - WINDOW).order_by()
    if recent.filter(target_type="login", target_id=name)[:PER_NAME].count() >= PER_NAME:
        return True
    return bool(recent[:PER_ADDRESS].count() >= PER_ADDRESS)


def address_of(request: HttpRequest) -> str:
    """The visitor's address as the web server gives it."""
    return str(request.META.get("REMOTE_ADDR") or "")[:45]
