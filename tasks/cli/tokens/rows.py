"""Tokens as people and programs see them; never what is secret of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from jobsplatform.kernel.models import AppToken
from tasks.cli import json_output
from tasks.cli.spans import age
from tasks.cli.tables import Column, table
from tasks.cli.terminal import Terminal

_COLOURS = {"good": "green", "expired": "yellow", "revoked": "dim", "app disabled": "yellow"}


def condition(token: AppToken, now: datetime) -> str:
    """``good``, ``revoked``, ``expired`` or ``app disabled``."""
    if token.revoked_at is not None:
        return "revoked"
    if token.expires_at is not None and token.expires_at <= now:
        return "expired"
    return "good" if token.app.enabled else "app disabled"


def output(token: AppToken, now: datetime) -> dict[str, Any]:
    """A token as JSON."""
    return {
        "id": str(token.id),
        "app_id": token.app.app_id,
        "name": token.name,
        "state": condition(token, now),
        "scopes": list(token.scopes),
        "created_at": json_output.instant(token.created_at),
        "created_by": token.created_by,
        "expires_at": json_output.instant(token.expires_at),
        "revoked_at": json_output.instant(token.revoked_at),
        "revoked_by": token.revoked_by,
        "last_used_at": json_output.instant(token.last_used_at),
        "last_used_ip": token.last_used_ip,
    }


def tokens_table(terminal: Terminal, tokens: Sequence[AppToken], now: datetime) -> list[str]:
    """The lines of a table."""
    columns = [
        Column("ID"),
        Column("APP", shrinks=True),
        Column("NAME", shrinks=True),
        Column("STATE", colour=lambda text: _COLOURS.get(text, "")),
        Column("EXPIRES"),
        Column("USED", right=True),
        Column("SCOPES", shrinks=True),
    ]
    return list(table(terminal, columns, [_row(token, now) for token in tokens]))


def _row(token: AppToken, now: datetime) -> list[object]:
    expires = token.expires_at.date().isoformat() if token.expires_at else "never"
    used = age(token.last_used_at, now) if token.last_used_at else "never"
    scopes = ",".join(token.scopes)
    return [token.id, token.app.app_id, token.name, condition(token, now), expires, used, scopes]
