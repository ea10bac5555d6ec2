"""The options that choose jobs, the same for every command that takes a ``JobFilter``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jobsplatform.kernel.errors import InvalidInput
from tasks.cli import arguments, names
from tasks.filters import JobFilter
from tasks.states import State

_TIMES = ("created_after", "created_before", "finished_after", "finished_before")
OPTIONS = (
    "state",
    "type",
    "app",
    "queue",
    "user",
    "tenant",
    "parent",
    "dedupe_key",
    "schedule",
    "priority",
    "min_priority",
    "max_priority",
    "data",
    *_TIMES,
)


def add_filter_options(parser: argparse.ArgumentParser) -> None:
    """``--state``, ``--type`` and so on; all given ones must hold."""
    add = parser.add_argument_group("which jobs").add_argument
    state = arguments.member("state", State)
    add("--state", action="append", type=state, metavar="STATE", help="in this state; may be repeated")
    add("--type", action="append", metavar="[APP:]TYPE", help="of this job type; may be repeated")
    add("--app", metavar="APP", help="of this app; empty for the host's own")
    add("--queue", metavar="QUEUE", help="in this queue")
    add("--user", metavar="ID", help="made for this user")
    add("--tenant", metavar="ID", help="of this tenant; empty for global ones")
    add("--parent", type=arguments.job_id, metavar="ID", help="children of this job")
    add("--dedupe-key", metavar="KEY", help="with this dedupe key")
    add("--schedule", metavar="ID", help="made by this schedule")
    add("--priority", type=arguments.priority, metavar="NAME|N", help="with exactly this priority")
    add("--min-priority", type=arguments.priority, metavar="NAME|N", help="with this priority or more")
    add("--max-priority", type=arguments.priority, metavar="NAME|N", help="with this priority or less")
    for name in _TIMES:
        verb, side = name.split("_")
        when = "at or after" if side == "after" else "before"
        text = f"{verb} {when} this time (ISO, or 2h for two hours ago)"
        add(f"--{verb}-{side}", metavar="TIME", help=text)
    add(
        "--data",
        action="append",
        metavar="KEY=VALUE",
        help="whose data holds this; JSON or text; may be repeated",
    )


def chosen(options: Mapping[str, Any], now: datetime) -> JobFilter:
    """The filter that the options describe. Raises InvalidInput, UnknownName."""
    app_id = options.get("app")
    types = [names.job_type(name, app_id, now) for name in options.get("type") or ()]
    exact = options.get("priority")
    values: dict[str, Any] = {
        "states": options.get("state"),
        "types": types,
        "app_id": names.app(app_id, now) if app_id is not None else None,
        "tenant_id": options.get("tenant"),
        "queue": names.queue(options["queue"], now) if options.get("queue") is not None else None,
        "parent": options.get("parent"),
        "user": options.get("user"),
        "dedupe_key": options.get("dedupe_key"),
        "schedule_id": options.get("schedule"),
        "priority_min": exact if exact is not None else options.get("min_priority"),
        "priority_max": exact if exact is not None else options.get("max_priority"),
        "data": _data(options.get("data") or ()),
    }
    for name in _TIMES:
        if options.get(name) is not None:
            values[name] = arguments.instant(options[name], now, past=True)
    return JobFilter.from_mapping(
        {name: value for name, value in values.items() if value not in (None, [], {})}
    )


def any_given(options: Mapping[str, Any]) -> bool:
    """Whether any of the filter's options was given."""
    return any(options.get(name) not in (None, []) for name in OPTIONS)


def _data(pairs: Any) -> dict[str, Any]:
    wanted = {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign or not key:
            raise InvalidInput(f"{pair!r} is no data condition. Expected KEY=VALUE.")
        try:
            wanted[key] = json.loads(text)
        except (ValueError, RecursionError):
            wanted[key] = text
    return wanted
