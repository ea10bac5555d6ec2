"""``tokens revoke``."""

from __future__ import annotations

import argparse
from typing import Any
from uuid import UUID

from jobsplatform.kernel import clock, tokens
from jobsplatform.kernel.errors import InvalidInput, UnknownName
from jobsplatform.kernel.models import AppToken
from tasks.cli import json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.operator import operator
from tasks.cli.tokens.rows import output

HELP = "take tokens back; every process refuses them within 5 seconds"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="ID", help="as 'tokens list' shows them")
    parser.add_argument("--json", action="store_true", help='{"tokens": […]}')


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    clock.current().sync()
    now = clock.now()
    wanted = [_known(text) for text in options["ids"]]
    told = []
    for token_id in wanted:
        changed = tokens.revoke(token_id, actor=operator(), now=now)
        token = AppToken.objects.select_related("app").get(pk=token_id)
        told.append(output(token, now))
        if not options["json"]:
            how = "Revoked" if changed else "Was revoked before"
            command.out.line(f"{how}: {token_id} of {token.app.app_id}.")
    if options["json"]:
        json_output.document(command.out, {"tokens": told})


def _known(text: str) -> UUID:
    # A whole token may be pasted: its public part is the id.
    try:
        token_id = tokens.public_id(text) or UUID(text)
    except ValueError:
        raise InvalidInput(
            f"{text[:60]!r} is no id of a token. Expected one as 'tokens list' shows them."
        ) from None
    if not AppToken.objects.filter(pk=token_id).exists():
        known = [str(pk) for pk in AppToken.objects.values_list("pk", flat=True)[:1000]]
        raise UnknownName("token", str(token_id), known)
    return token_id
