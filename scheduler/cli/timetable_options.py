"""The options that say a timetable, the same for every command that takes one."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from jobsplatform.kernel.errors import InvalidInput
from scheduler.states import Fold, Gap, TriggerType

KINDS = ("cron", "every", "months", "at", "manual")
_CONFIG = {"gap": "gap", "fold": "fold", "start": "start", "end": "end", "anchor": "anchor"}
_OF = {
    "gap": ("cron",),
    "fold": ("cron",),
    "anchor": ("every", "months"),
    "month_end": ("months",),
    "from_": ("every",),
}
DEFAULT_ZONE = "UTC"


def add_timetable(parser: argparse.ArgumentParser, *, manual: bool = False) -> None:
    """``--cron``, ``--every`` and so on; which go together is said by ``chosen``."""
    add = parser.add_argument_group("when").add_argument
    add("--cron", metavar="EXPR", help="five fields, or @hourly, @daily, …: '30 2 * * *'")
    add("--every", metavar="LENGTH", help="an interval: 7m, 1h30m, 2d")
    add("--months", metavar="N", help="every N calendar months, counted from --anchor")
    add("--at", metavar="TIME", help="once (ISO; without an offset in --timezone)")
    if manual:
        add("--manual", action="store_true", help="never by itself")
        add("--from", dest="from_", metavar="WHAT", help="--every counts from: slot, or last_end of its jobs")
    add("--timezone", metavar="ZONE", help=f"an IANA zone such as Europe/Berlin (default {DEFAULT_ZONE})")
    add("--start", metavar="TIME", help="no slot before this time")
    add("--end", metavar="TIME", help="no slot after this time")
    add(
        "--exclude",
        action="append",
        metavar="DATE",
        help="no slot on this local date: 2026-12-24, or 12-24 of each year; may be repeated",
    )
    add("--anchor", metavar="TIME", help="--every and --months count from here")
    add("--month-end", metavar="RULE", help="--months from the 29th to the 31st: clamp or skip")
    add("--gap", metavar="RULE", help=f"a local time that a clock change leaves out: {_words(Gap)}")
    add("--fold", metavar="RULE", help=f"a local time that it brings twice: {_words(Fold)}")


def kind(options: Mapping[str, Any]) -> str:
    """Which of the timetables was given; empty for none. Raises InvalidInput for two, or what does not go with it."""
    given = [name for name in KINDS if options.get(name) not in (None, False)]
    if len(given) > 1:
        raise InvalidInput(f"--{given[0]} and --{given[1]} exclude each other: say one of them.")
    for name, kinds in _OF.items():
        if options.get(name) is not None and given and given[0] not in kinds:
            dashed = name.strip("_").replace("_", "-")
            raise InvalidInput(f"--{dashed} goes with {' or '.join(f'--{each}' for each in kinds)} only.")
    return given[0] if given else ""


def chosen(options: Mapping[str, Any]) -> tuple[TriggerType, dict[str, Any]]:
    """The trigger type and config that the options describe, not yet checked. Raises InvalidInput."""
    found = kind(options)
    if not found:
        raise InvalidInput(
            "When? Say --cron '30 2 * * *', --every 7m, --months 1 or --at 2026-01-31T12:00.",
        )
    config = {key: options[name] for name, key in _CONFIG.items() if options.get(name) is not None}
    if options.get("exclude"):
        config["exclude"] = list(options["exclude"])
    if found == "cron":
        return TriggerType.CRON, {"cron": options["cron"], **config}
    if found == "every":
        return TriggerType.INTERVAL, {"every": options["every"], **config}
    if found == "months":
        more = {"month_end": options["month_end"]} if options.get("month_end") is not None else {}
        return TriggerType.INTERVAL, {"months": whole(options["months"], "months"), **more, **config}
    if found == "at":
        return TriggerType.DATE, {"at": options["at"], **config}
    return TriggerType.MANUAL, config


def whole(text: str, name: str) -> int:
    """A number of an option. Raises InvalidInput."""
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise InvalidInput(f"--{name}: {text!r} is no whole number. Expected e.g. 1 or 3.")
    return int(text)


def _words(enum: type[Gap] | type[Fold]) -> str:
    return ", ".join(str(item) for item in enum if item)
