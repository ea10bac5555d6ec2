"""What an import does, or would do: for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler.importing.store import Outcome, Plan, Verdict
from scheduler.spec import WHEN, ScheduleSpec, config_of, when_of
from scheduler.timetables import build
from tasks.cli import names
from tasks.cli.base import PlatformCommand
from tasks.cli.tables import Column, table
from tasks.cli.text import plain

_COLOURS = {"created": "green", "updated": "blue", "unchanged": "dim", "differs": "yellow"}
_WOULD = {"created": "create", "updated": "update", "unchanged": "unchanged", "differs": "differs"}


def document(planned: Plan, *, source: str, dry_run: bool) -> dict[str, Any]:
    """The plan as JSON."""
    return {
        "dry_run": dry_run,
        "source": source,
        "counts": {
            **{str(verdict): len(planned.of(verdict)) for verdict in Verdict},
            "refused": len(planned.refused),
        },
        "schedules": [_output(outcome) for outcome in planned.outcomes],
        "refused": [
            {"place": each.place, "text": each.text, "reason": each.reason} for each in planned.refused
        ],
        "remarks": [{"place": place, "remark": remark} for place, remark in planned.remarks],
    }


def _output(outcome: Outcome) -> dict[str, Any]:
    spec = outcome.candidate.spec
    return {
        "place": outcome.candidate.place,
        "text": outcome.candidate.text,
        "verdict": str(outcome.verdict),
        "schedule_id": spec.id,
        "job_type": spec.job,
        "app_id": spec.app_id,
        "params": dict(spec.params),
        "rule": rule(spec),
        "timezone": spec.timezone,
        "misfire": str(spec.misfire),
        "paused": not spec.enabled,
        "difference": list(outcome.difference),
        "remarks": list(outcome.candidate.remarks),
    }


def rule(spec: ScheduleSpec) -> str:
    """When, as one text: a cron line, ``every 1h``, ``at 2026-…``. For a spec that has been found good."""
    (name,) = when_of(spec)
    return build(WHEN[name], config_of(spec, name), spec.timezone, schedule_id=spec.id).expression


def say(command: PlatformCommand, planned: Plan, told: Mapping[str, Any]) -> None:
    """Schedules on stdout; what is not taken, and what of it is lost, on stderr."""
    out, err = command.out, command.err
    if planned.outcomes:
        for line in table(out, _columns(), [_row(outcome, told["dry_run"]) for outcome in planned.outcomes]):
            out.line(line)
    for outcome in planned.outcomes:
        for remark in outcome.candidate.remarks if outcome.verdict is not Verdict.UNCHANGED else ():
            err.line(f"Note, {outcome.candidate.place}: {plain(remark)}")
        if outcome.verdict is Verdict.DIFFERS:
            err.line(f"Note, {outcome.candidate.place}: {_difference(outcome)}")
    for place, remark in planned.remarks:
        err.line(f"Note, {place}: {plain(remark)}")
    for each in planned.refused:
        err.line(f"Not taken, {each.place}: {plain(each.text)}")
        err.line(f"    {plain(each.reason)}")
    for name in told["unused_maps"]:
        err.line(f"Note: --map {plain(name)!r} fits nothing.")
    if told["rows_still_on"] and not told["dry_run"]:
        err.line(
            f"{told['rows_still_on']:,} rows of django-celery-beat are still switched on and go on beside these "
            "schedules: --take-over switches them off."
        )
    _count(command, told)


def _columns() -> list[Column]:
    return [
        Column("FROM"),
        Column("", colour=lambda word: _COLOURS.get(word, "")),
        Column("SCHEDULE", shrinks=True),
        Column("WHEN", shrinks=True),
        Column("JOB", shrinks=True),
    ]


def _row(outcome: Outcome, dry_run: bool) -> list[object]:
    spec = outcome.candidate.spec
    word = str(outcome.verdict)
    job = names.shown(f"{spec.app_id}:{spec.job}")
    command = spec.params.get("command") if spec.job == "system.command" else None
    words = [str(command), *map(str, spec.params.get("arguments", ()))] if command else []
    return [
        outcome.candidate.place,
        _WOULD[word] if dry_run else word,
        f"{spec.id}{'' if spec.enabled else ' (paused)'}",
        f"{rule(spec)}{'' if spec.timezone == 'UTC' else f' {spec.timezone}'}",
        " ".join([job, *words]),
    ]


def _difference(outcome: Outcome) -> str:
    if outcome.difference == ("archived",):
        return f"{plain(outcome.candidate.spec.id)} was archived here, and stays so."
    fields = ", ".join(outcome.difference)
    return f"{plain(outcome.candidate.spec.id)} is another here ({fields}): --update makes it this one."


def _count(command: PlatformCommand, told: Mapping[str, Any]) -> None:
    counts = told["counts"]
    words = _WOULD if told["dry_run"] else {name: name for name in _WOULD}
    parts = [f"{counts[name]:,} {words[name]}" for name in _WOULD if counts[name]]
    parts += [f"{counts['refused']:,} not taken"] if counts["refused"] else []
    parts += [f"{told['rows_switched_off']:,} rows switched off"] if told["rows_switched_off"] else []
    end = " (nothing was stored)" if told["dry_run"] else ""
    command.err.line(f"{', '.join(parts) or 'Nothing to import'}{end}.")
