"""Asking before what cannot be undone."""

from __future__ import annotations

import sys

from tasks.cli.base import PlatformCommand
from tasks.cli.exits import Refused
from tasks.cli.terminal import is_tty
from tasks.cli.text import plain


def confirmed(command: PlatformCommand, question: str) -> None:
    """Return when a person says yes. Raises Refused when they do not, or when nobody can be asked."""
    if not is_tty(sys.stdin) or not command.err.is_tty:
        raise Refused(f"{plain(question)} Nobody can be asked here: say --yes.")
    command.err.raw(f"{plain(question)} [y/N] ")
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Refused("Nothing was done.")
