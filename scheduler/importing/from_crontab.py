"""A crontab's entries as schedules: management commands of this project, and what a person mapped."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

from jobsplatform.kernel.errors import did_you_mean
from scheduler.importing import command_line
from scheduler.importing.candidates import Candidate, Found, Mapped, NotTaken, Target, with_id
from scheduler.importing.crontab import Crontab, Entry
from scheduler.spec import ScheduleSpec
from scheduler.states import Misfire

COMMAND_JOB = "system.command"
MISFIRE = Misfire.SKIP
"""Cron itself never makes up for what it missed."""
_SLUG = 40


def schedules_of(
    crontab: Crontab,
    mapped: Mapped,
    *,
    prefix: str,
    misfire: str,
    allowed: Collection[str],
    known: Collection[str],
) -> Found:
    """What each entry would be. ``allowed``: management commands that system.command may run; ``known``: those that
    there are. An id is made of the command, so that reading the same crontab again finds the same schedules."""
    found = Found(
        refused=[NotTaken(f"line {line.number}", line.text, line.message) for line in crontab.refused],
        remarks=[(f"line {line.number}", line.message) for line in crontab.remarks],
    )
    taken: set[str] = set()
    for entry in crontab.entries:
        place = f"line {entry.number}"
        try:
            target, remarks = _target(entry, mapped, allowed, known)
        except command_line.NotTaken as reason:
            found.refused.append(NotTaken(place, entry.text, str(reason)))
            continue
        spec = ScheduleSpec(
            id=target.schedule_id or f"{prefix}-{_slug(entry, target)}-{_mark(entry.command)}",
            job=target.job,
            app_id=target.app_id,
            description=entry.command[:500],
            params=dict(target.params or {}),
            cron=entry.expression,
            timezone=entry.timezone,
            misfire=misfire or MISFIRE,
        )
        found.candidates.append(Candidate(place, entry.text, with_id(spec, taken), tuple(remarks)))
    return found


def _target(
    entry: Entry, mapped: Mapped, allowed: Collection[str], known: Collection[str]
) -> tuple[Target, list[str]]:
    """The job of an entry and what of the line is lost. Raises ``command_line.NotTaken``."""
    remarks = []
    if entry.user:
        remarks.append(f"It ran as {entry.user}; jobs run as the account of their worker.")
    target = mapped.find(entry.command)
    if target is not None:
        if entry.stdin is not None:
            remarks.append("Its input (behind %) is left out.")
        return target, remarks
    if entry.stdin is not None:
        raise command_line.NotTaken(
            "It gives its command an input (behind %), which a job has no place for. Say --map 'COMMAND=TYPE'."
        )
    meant = command_line.management(entry.command)
    if meant.command not in known:
        raise command_line.NotTaken(
            f"There is no management command {meant.command!r} here.{did_you_mean(meant.command, known)}"
        )
    if meant.command not in allowed:
        raise command_line.NotTaken(
            f"system.command may not run {meant.command!r}: add it to TASKS__ALLOWED_COMMANDS."
        )
    params = {"command": meant.command, **({"arguments": list(meant.arguments)} if meant.arguments else {})}
    return Target(COMMAND_JOB, params=params), [*remarks, *meant.lost]


def _slug(entry: Entry, target: Target) -> str:
    """A few letters that remind of the command."""
    name = target.params.get("command", target.job) if target.params else target.job
    words = re.findall(r"[a-z0-9]+", str(name).lower())
    return "-".join(words)[:_SLUG].strip("-") or "command"


def _mark(command: str) -> str:
    return hashlib.sha256(command.encode()).hexdigest()[:6]
