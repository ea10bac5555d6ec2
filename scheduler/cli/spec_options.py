"""The options that say what a schedule should be, for ``schedules add`` and ``schedules edit``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from jobsplatform.kernel.errors import InvalidInput, UnknownName
from scheduler.cli.timetable_options import add_timetable, kind, whole
from scheduler.spec import CONFIG_KEYS, WHEN
from scheduler.states import Misfire, Overlap
from tasks import registry
from tasks.cli import arguments, names
from tasks.cli import params as param_options

_SAME = ("description", "cron", "every", "at", "timezone", "start", "end", "exclude", "anchor", "month_end")
_POLICIES = (
    "misfire",
    "grace",
    "misfire_limit",
    "catch_up_window",
    "catch_up_max",
    "overlap",
    "latest_start",
)
_OTHERS = ("pause_after_failures", "priority", "queue", "max_attempts", "log_days", "jitter", "max_runs")
_PLAIN = (*_SAME, "from_", "gap", "fold", *_POLICIES, *_OTHERS)
UNSET: Mapping[str, Any] = {
    "description": "", "params": {}, "gap": "", "fold": "", "start": None, "end": None, "exclude": (),
    "jitter": None, "max_runs": None, "grace": None, "misfire_limit": None, "catch_up_window": None,
    "catch_up_max": None, "overlap": "", "latest_start": None, "pause_after_failures": None, "priority": None,
    "queue": None, "max_attempts": None, "log_days": None, "tenants": None,
}  # fmt: skip
"""What ``--unset`` can take away, and what is there then."""


def add_spec(parser: argparse.ArgumentParser) -> None:
    """All options but the id and the job type."""
    add_timetable(parser, manual=True)
    add = parser.add_argument_group("what and how").add_argument
    add("--description", metavar="TEXT", help="what it is for")
    add(
        "--param", "-p", action="append", default=[], metavar="NAME=VALUE",
        help="a param of the job; NAME:=JSON for raw JSON; may be repeated",
    )  # fmt: skip
    add("--params", metavar="JSON|@FILE|-", help="all params as a JSON object")
    add("--misfire", metavar="POLICY", help=f"what becomes of missed slots: {', '.join(Misfire)}")
    add("--grace", type=arguments.seconds, metavar="LENGTH", help="a slot this late is still on time")
    add("--misfire-limit", type=arguments.count, metavar="N", help="slots that it catches up in a round")
    add("--catch-up-window", type=arguments.seconds, metavar="LENGTH", help="older slots expire")
    add(
        "--catch-up-max",
        type=arguments.count,
        metavar="N",
        help="slots of a whole catch-up; the rest are skipped",
    )
    overlaps = ", ".join(str(word) for word in Overlap if word)
    add("--overlap", metavar="RULE", help=f"while an earlier job of it is unfinished: {overlaps}")
    add(
        "--latest-start", type=arguments.seconds, metavar="LENGTH", help="a job that waited longer is not run"
    )
    add("--pause-after-failures", type=arguments.count, metavar="N", help="so many in a row pause it")
    add("--jitter", type=arguments.seconds, metavar="LENGTH", help="spread its starts over so long")
    add("--max-runs", type=arguments.count, metavar="N", help="it ends after so many")
    add("--priority", type=arguments.priority, metavar="NAME|N", help="instead of the job type's")
    add("--queue", metavar="QUEUE", help="instead of the job type's")
    add("--max-attempts", type=arguments.count, metavar="N", help="instead of the job type's")
    add("--log-days", type=arguments.count, metavar="N", help="how long its decisions are kept")
    add("--tenant", action="append", metavar="ID", help="once for this tenant; may be repeated")
    add("--every-tenant", action="store_true", help="once for each tenant there is")


def job_of(name: str) -> tuple[str, str]:
    """(app_id, job_type) of a registered job type. Raises UnknownName."""
    app_id, job_type = names.split(name)
    if registry.find(app_id, job_type) is None:
        raise UnknownName("job type", name, map(registry.shown, registry.keys()))
    return app_id, job_type


def changes(options: Mapping[str, Any], app_id: str, job_type: str) -> dict[str, Any]:
    """The fields of a ScheduleSpec that the options give; of a new kind of timetable all that say when.

    Whether they can be is for ``definition.check``. Raises InvalidInput.
    """
    given = {name: options[name] for name in _PLAIN if options.get(name) is not None}
    if "jitter" in given and float(given["jitter"]).is_integer():
        given["jitter"] = int(given["jitter"])
    found = kind(options)
    if found:
        given |= {name: False if name == "manual" else None for name in WHEN if name != found}
    if found == "months":
        given["months"] = whole(options["months"], "months")
    if found == "manual":
        given["manual"] = True
    if options["tenant"] and options["every_tenant"]:
        raise InvalidInput("--tenant and --every-tenant exclude each other: say one of them.")
    if options["tenant"] or options["every_tenant"]:
        given["tenants"] = "*" if options["every_tenant"] else list(options["tenant"])
    if options["param"] or options["params"] is not None:
        handler = registry.find(app_id, job_type)
        schema = handler.schema.json_schema() if handler is not None else {"additionalProperties": True}
        given["params"] = param_options.gather(options["params"], options["param"], schema)
    return given


def forget_other_kind(given: dict[str, Any], was: str) -> dict[str, Any]:
    """Besides what is given: of another kind of timetable than the standing one nothing else stays."""
    if given.get(was, was) not in (None, False):
        return given
    own = {"gap", "fold", "anchor", "from_", "month_end"} & CONFIG_KEYS.keys()
    return {**{name: None if name == "anchor" else "" for name in own}, **given}
