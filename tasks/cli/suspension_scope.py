"""The words that name what is suspended: ``all``, ``app X``, ``type T``, ``queue Q``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from jobsplatform.kernel.errors import InvalidInput
from tasks.cli import json_output, names
from tasks.cli.spans import age, instant
from tasks.cli.tables import Column, table
from tasks.cli.terminal import Terminal
from tasks.models import Suspension

_HOST = "(host)"


def add_scope(parser: argparse.ArgumentParser, *, optional: bool) -> None:
    """The two positional words."""
    parser.add_argument(
        "scope",
        nargs="?" if optional else None,
        choices=Suspension.Scope.values,
        metavar="scope",
        help="all, app, type or queue",
    )
    parser.add_argument("target", nargs="?", metavar="NAME", help="the app, [app:]type or queue")


def target(options: dict[str, Any], now: datetime) -> str:
    """The suspension's target as it is stored. Raises InvalidInput, UnknownName."""
    scope, name = options["scope"], options["target"]
    if scope == Suspension.Scope.ALL:
        if name:
            raise InvalidInput(
                f"'all' takes no name, got {name!r}. Did you mean 'queue {name}' or 'type {name}'?"
            )
        return ""
    if not name:
        raise InvalidInput(f"Which {scope}? Expected '{scope} NAME'.")
    if scope == Suspension.Scope.TYPE:
        return names.job_type(name, None, now)
    return names.app(name, now) if scope == Suspension.Scope.APP else names.queue(name, now)


def stored(options: dict[str, Any]) -> str:
    """How the target would be stored, whether it is known or not."""
    name: str = options["target"] or ""
    return f":{name}" if options["scope"] == Suspension.Scope.TYPE and ":" not in name else name


def shown(suspension: Suspension) -> str:
    """``all``, ``queue mail``, ``type video:scrape``."""
    name = names.shown(suspension.target) or ("" if suspension.scope == Suspension.Scope.ALL else _HOST)
    return f"{suspension.scope} {name}".strip()


def output(suspension: Suspension) -> dict[str, Any]:
    """A suspension as JSON."""
    return {
        "scope": suspension.scope,
        "target": suspension.target,
        "reason": suspension.reason,
        "author": suspension.author,
        "interrupt": suspension.interrupt,
        "created_at": json_output.instant(suspension.created_at),
        "expires_at": json_output.instant(suspension.expires_at),
        "lifted_at": json_output.instant(suspension.lifted_at),
        "lifted_by": suspension.lifted_by,
    }


def suspensions_table(terminal: Terminal, rows: Iterable[Suspension], now: datetime) -> list[str]:
    """One line a suspension."""
    columns = [
        Column("SUSPENDED", shrinks=True),
        Column("BY", shrinks=True),
        Column("FOR", right=True),
        Column("UNTIL"),
        Column("REASON", shrinks=True),
    ]
    cells = [
        [
            shown(row),
            row.author,
            age(row.created_at, now),
            instant(row.expires_at)[:16] or "lifted",
            row.reason,
        ]
        for row in rows
    ]
    return table(terminal, columns, cells)
