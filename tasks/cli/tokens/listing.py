"""``tokens list``."""

from __future__ import annotations

import argparse
from typing import Any

from django.db.models import Q

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import UnknownName
from jobsplatform.kernel.models import App, AppToken
from tasks.cli import json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.tokens.rows import output, tokens_table

HELP = "list the tokens that are good, newest first"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--app", metavar="APP", help="of this app alone")
    parser.add_argument("--all", action="store_true", help="also expired and revoked ones")
    parser.add_argument("--json", action="store_true", help='{"tokens": […]}')


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    clock.current().sync()
    now = clock.now()
    rows = AppToken.objects.select_related("app").order_by("-created_at", "-id")
    if options["app"] is not None:
        known = list(App.objects.values_list("app_id", flat=True))
        if options["app"] not in known:
            raise UnknownName("app", options["app"], known)
        rows = rows.filter(app__app_id=options["app"])
    if not options["all"]:
        rows = rows.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None)
    found = list(rows)
    if options["json"]:
        json_output.document(command.out, {"tokens": [output(token, now) for token in found]})
    elif not found:
        command.err.line("No tokens. Make one with 'tokens create'.")
    else:
        for line in tokens_table(command.out, found, now):
            command.out.line(line)
