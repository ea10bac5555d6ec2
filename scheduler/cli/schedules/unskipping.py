"""``schedules unskip``."""

from __future__ import annotations

import argparse
from typing import Any

from scheduler import control
from scheduler.cli.schedules import skipping
from tasks.cli.base import PlatformCommand

HELP = "take back a skip that has not come yet"


def add(parser: argparse.ArgumentParser) -> None:
    skipping.add(parser, "this slot (ISO); default: the last one that was said")


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    skipping.on_slot(command, options, control.unskip, "It will not skip")
