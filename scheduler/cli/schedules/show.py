"""``schedules show``."""

from __future__ import annotations

import argparse
import json
from typing import Any

from jobsplatform.kernel import clock
from scheduler import queries
from scheduler.cli.finding import add_schedule, add_tenant, tenant_of, zone_of
from scheduler.cli.outputs import (
    backfill_output,
    decision_output,
    pause_output,
    schedule_output,
    slot_outputs,
    state_output,
)
from scheduler.cli.rows import decisions_table, key_of, slots_table, when
from scheduler.cli.sentences import pause_sentence, rule_sentence
from scheduler.states import Audience
from tasks.cli import json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.spans import age, instant, length
from tasks.cli.tables import facts
from tasks.cli.text import plain, printable

HELP = "one schedule: its rule, next slots, last decisions and what became of them"
SLOTS, DECISIONS = 5, 10
MAX_JSON = 4000


def add(parser: argparse.ArgumentParser) -> None:
    add_schedule(parser)
    add_tenant(parser)
    parser.add_argument(
        "--json", action="store_true", help="the schedule with states, pause, slots, decisions and backfills"
    )


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    now = clock.now()
    tenant_id = tenant_of(queries.find(options["id"]), options["tenant"])
    shown = queries.show(options["id"], now=now, tenant_id=tenant_id, slots=SLOTS, decisions=DECISIONS)
    if options["json"]:
        more = {
            "fault": shown.fault or None,
            "pause": None if shown.pause is None else pause_output(shown.pause),
            "states": [state_output(state) for state in shown.states],
            "slots": slot_outputs(list(shown.slots)),
            "decisions": [decision_output(entry) for entry in shown.decisions],
            "backfills": [backfill_output(row) for row in shown.backfills],
        }
        json_output.document(command.out, {**schedule_output(shown.schedule), **more})
        return
    _say(command, shown, now)


def _say(command: PlatformCommand, shown: queries.Shown, now: Any) -> None:
    terminal, schedule = command.out, shown.schedule
    for line in facts(_facts(shown, now)):
        terminal.line(line)
    if schedule.params:
        terminal.line(f"params  {printable(json.dumps(schedule.params, ensure_ascii=False))[:MAX_JSON]}")
    if schedule.archived_at is not None:
        terminal.line("\n" + terminal.paint(f"Archived {age(schedule.archived_at, now)} ago.", "yellow"))
    if shown.fault:
        terminal.line("\n" + terminal.paint(f"Faulty, it fires nothing: {plain(shown.fault)}", "red"))
    if shown.pause is not None:
        terminal.line("\n" + terminal.paint(pause_sentence(shown.pause, now), "yellow"))
    if shown.slots:
        terminal.line()
        for line in slots_table(terminal, shown.slots, zone_of(schedule), now):
            terminal.line(line)
    if shown.decisions:
        terminal.line()
        tenants = schedule.audience != Audience.GLOBAL
        for line in decisions_table(terminal, shown.decisions, tenants=tenants):
            terminal.line(line)


def _facts(shown: queries.Shown, now: Any) -> dict[str, object]:
    schedule = shown.schedule
    tenants = {
        Audience.GLOBAL: "",
        Audience.EVERY: "every one",
        Audience.NAMED: ", ".join(schedule.tenants[:10]) + (", …" if len(schedule.tenants) > 10 else ""),
    }
    return {
        "id": schedule.id,
        "description": schedule.description,
        "job": key_of(schedule),
        "when": rule_sentence(schedule),
        "rule": when(schedule),
        "misfire": schedule.misfire,
        "overlap": schedule.overlap,
        "latest start": _length(schedule.latest_start_seconds),
        "grace": _length(schedule.misfire_grace_seconds),
        "catch-up window": _length(schedule.catch_up_window_seconds),
        "catch-up max": schedule.catch_up_max,
        "pause after": f"{schedule.pause_after_failures} failures" if schedule.pause_after_failures else "",
        "queue": schedule.queue,
        "priority": schedule.priority,
        "max attempts": schedule.max_attempts,
        "tenants": tenants[Audience(schedule.audience)],
        "made by": f"code ({schedule.module})"
        if schedule.source == "code"
        else schedule.created_by or "admin",
        "revision": f"{schedule.revision}, {age(schedule.updated_at, now)} ago",
        "decided up to": instant(shown.states[0].last_planned_at) if len(shown.states) == 1 else "",
    }


def _length(seconds: float | None) -> str:
    return "" if seconds is None else length(seconds)
