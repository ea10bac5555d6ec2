"""``tokens create``."""

from __future__ import annotations

import argparse
from typing import Any

from django.db import transaction

from jobsplatform.kernel import app_rows, clock, tokens
from jobsplatform.kernel.errors import UnknownName, nearest
from jobsplatform.kernel.models import App
from tasks.cli import arguments, json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.operator import operator
from tasks.cli.tokens.rows import output

HELP = "make a token of an app; it is shown this once"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--app", required=True, metavar="APP", help="whose it is; a new app is made")
    parser.add_argument(
        "--scopes",
        required=True,
        metavar="LIST",
        help=f"what it may do, separated by commas: {', '.join(tokens.SCOPES)}; or all",
    )
    parser.add_argument("--name", default="", metavar="TEXT", help="what it is for")
    parser.add_argument(
        "--expires", metavar="TIME", help="refused from then on: 90d, or ISO; without it never"
    )
    parser.add_argument("--json", action="store_true", help='{"token": "jp_…", and what "tokens list" tells}')


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    clock.current().sync()
    now = clock.now()
    app_id = app_rows.read_app_id(options["app"])
    given = [scope.strip() for scope in options["scopes"].split(",") if scope.strip()]
    scopes = tokens.read_scopes(tokens.SCOPES if given == ["all"] else given)
    expires_at = arguments.instant(options["expires"], now) if options["expires"] is not None else None
    _refuse_misspelt(app_id)
    with transaction.atomic():  # a token that cannot be made leaves no app behind
        app, made = app_rows.ensure(app_id, actor=operator())
        token, text = tokens.mint(
            app, name=options["name"], scopes=scopes, expires_at=expires_at, actor=operator(), now=now
        )
    if made:
        command.err.line(f"The app {app_id} is new.")
    if options["json"]:
        json_output.document(command.out, {"token": text, **output(token, now)})
        return
    command.out.line(text)
    command.err.line(f"Keep it: it cannot be shown again. To take it back: tokens revoke {token.id}")


def _refuse_misspelt(app_id: str) -> None:
    """A name that differs from a known one by its case alone is more likely a slip than another app."""
    known = list(App.objects.values_list("app_id", flat=True))
    if app_id in known:
        return
    alike = [name for name in known if name.lower() == app_id.lower()]
    if alike:
        raise UnknownName("app", app_id, [nearest(app_id, alike) or alike[0]])
