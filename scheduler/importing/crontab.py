"""Reading a crontab: its entries, what is to be known about it, and the lines that are no entries. Pure.

The format is that of crontab(5) of Vixie cron and its descendants (Debian, cronie): comments, variables, five
fields or an @name, in system crontabs a user, and a command in which an unescaped ``%`` starts the input.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

MAX_BYTES = 2**20
"""Of a crontab: what is longer is refused before it is read whole."""

_VARIABLE = re.compile(r"(?P<quote>[\"']?)(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P=quote)\s*=\s*(?P<value>.*)")
_FIELDS = 5
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\$?(:[A-Za-z0-9_.-]+)?(/[A-Za-z0-9_.-]+)?")
_SILENT = {"MAILTO", "MAILFROM", "SHELL", "HOME", "LOGNAME", "USER", "PATH"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line that starts something. ``stdin``: what its command reads, None for nothing; ``timezone``: of
    CRON_TZ, else the one that ``read`` was given."""

    number: int
    text: str
    expression: str
    timezone: str
    user: str
    command: str
    stdin: str | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about a line: why it is not taken, or what of it is lost."""

    number: int
    text: str
    message: str


@dataclass(slots=True)
class Crontab:
    """What a file holds, in its order."""

    entries: list[Entry] = field(default_factory=list)
    refused: list[Remark] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)


def read(text: str, *, timezone: str, system: bool, zone_is_sure: bool = False) -> Crontab:
    """The entries of ``text``. ``system``: each has a user between time and command. ``zone_is_sure``: a person
    named ``timezone``, so that a TZ line says nothing new."""
    found = Crontab()
    zone, doubt = timezone, ""
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        variable = _VARIABLE.fullmatch(line)
        if variable is None:
            _take(found, number, line, zone, system=system, doubt=doubt)
            continue
        name, value = variable["name"], _unquoted(variable["value"].strip())
        if name == "CRON_TZ":
            zone, doubt = value or timezone, ""
        elif name == "TZ":
            sure = zone_is_sure or value in ("", zone)
            doubt = "" if sure else value
        else:
            found.remarks.append(Remark(number, line, _lost(name)))
    return found


def looks_like_system(text: str, accounts: Collection[str]) -> bool:
    """Whether every entry has one of ``accounts`` where a system crontab names the user, and a command behind."""
    seen = False
    for raw in text.removeprefix("\ufeff").split("\n"):
        line = raw.strip()
        if not line or line.startswith("#") or _VARIABLE.fullmatch(line):
            continue
        _, rest = _split(line)
        user, command = _first(rest)
        if user not in accounts or not command:
            return False
        seen = True
    return seen


def _take(found: Crontab, number: int, line: str, zone: str, *, system: bool, doubt: str) -> None:
    expression, rest = _split(line)
    if not rest:
        wanted = "a user and a command" if system else "a command"
        found.refused.append(Remark(number, line, f"Expected five fields (or an @name) and {wanted}."))
        return
    if expression.lower() == "@reboot":
        message = "@reboot has no time: what starts with the machine belongs to its service manager."
        found.refused.append(Remark(number, line, message))
        return
    user = ""
    if system:
        user, rest = _first(rest)
        if not _USER.fullmatch(user) or not rest:
            message = (
                f"Expected a user before the command, read {user!r}. A crontab of one user has none: say "
                "--format user."
            )
            found.refused.append(Remark(number, line, message))
            return
    if doubt:
        message = (
            f"TZ={doubt} stands above it: some crons read the times in it, most only hand it to the command. "
            f"Say --timezone {doubt}, or --timezone with the zone that is meant, or write CRON_TZ."
        )
        found.refused.append(Remark(number, line, message))
        return
    command, stdin = split_input(rest)
    found.entries.append(Entry(number, line, expression, zone, user, command.strip(), stdin))


def _split(line: str) -> tuple[str, str]:
    """The time, one blank between its fields, and what follows it; nothing when fields are missing."""
    count = 1 if line.startswith("@") else _FIELDS
    words = line.split(None, count)
    rest = words[count] if len(words) > count else ""
    # A dash before the minute (cronie, SUSE) only keeps the run out of the system's log.
    head = re.sub(r"^-(?=[*0-9])", "", words[0])
    return " ".join([head, *words[1:count]]), rest.strip()


def _first(text: str) -> tuple[str, str]:
    """The first word, and the rest without the blanks between."""
    words = text.split(None, 1)
    return (words[0] if words else ""), (words[1] if len(words) > 1 else "")


def split_input(command: str) -> tuple[str, str | None]:
    """A command and its input: the first ``%`` without a backslash ends the one, further ones are line ends."""
    parts = re.split(r"(?<!\\)%", command)
    plain = [part.replace("\\%", "%") for part in parts]
    return plain[0], "\n".join(plain[1:]) if len(plain) > 1 else None


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def _lost(name: str) -> str:
    if name in ("MAILTO", "MAILFROM"):
        return f"{name} is not taken over: the output is kept with each job, and no mail is sent."
    if name == "RANDOM_DELAY":
        return "RANDOM_DELAY is not taken over: a schedule has jitter for that."
    if name in _SILENT:
        return f"{name} is not taken over: jobs run in the environment of their worker."
    return (
        f"{name} is not taken over: jobs run in the environment of their worker. Set it there if it matters."
    )
