"""What a crontab's command means here: a management command of this project, or nothing that we know. Pure."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePath

_FOLDER = re.compile(r"cd\s+(?P<folder>[^\s\"'$`;&|<>()*?]+)\s*(?:&&|;)\s*")
_REDIRECT = re.compile(
    r"\s+(?:(?:&|[12])?>>?\s*(?:&[12]|[^\s\"'$`;&|<>()*?]+)|<\s*/dev/null)$"
)  # at the end: > file, >> file, 2>&1, &> file, < /dev/null
_PYTHON = re.compile(r"python(?:\d+(?:\.\d+)*)?")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_ALWAYS_SPECIAL = "$`"
_SPECIAL = "|&;<>()*?[]{}\n"
_SPECIAL_FIRST = "~#"


class NotTaken(Exception):
    """A command that cannot become a job; says why and what to do."""


@dataclass(frozen=True, slots=True)
class Management:
    """``manage.py command arguments…``; ``lost``: what of the line has no meaning any more."""

    command: str
    arguments: tuple[str, ...]
    lost: tuple[str, ...] = ()


def management(text: str) -> Management:
    """The management command that a shell would run for ``text``. Raises NotTaken."""
    lost = []
    folder = _FOLDER.match(text)
    if folder is not None:
        text = text[folder.end() :]
        lost.append(f"It runs in this project, whatever lies in {folder['folder']}.")
    redirect = _REDIRECT.search(text)
    while redirect is not None:
        if "<" not in redirect[0]:
            lost.append(f"{redirect[0].strip()} is left out: the output is kept with the job.")
        text = text[: redirect.start()]
        redirect = _REDIRECT.search(text)
    _refuse_shell(text)
    words = shlex.split(text)
    rest = _after_manage(words)
    if rest is None:
        raise NotTaken(
            f"{_first(words)} is no 'manage.py COMMAND' of this project. Write a job type that does it and "
            "say --map 'COMMAND=TYPE' ('*' in COMMAND stands for anything)."
        )
    if not rest or rest[0].startswith("-"):
        raise NotTaken("No management command stands behind manage.py.")
    return Management(rest[0], tuple(rest[1:]), tuple(lost[:1] + lost[:0:-1] if folder else lost[::-1]))


def _after_manage(words: list[str]) -> list[str] | None:
    """What follows ``manage.py``; None when that is not what is run."""
    left = list(words)
    if left and _PYTHON.fullmatch(PurePath(left[0]).name):
        left.pop(0)
        if left[:1] == ["-u"]:
            left.pop(0)
        if left[:2] == ["-m", "django"]:
            return left[2:]
    if left and PurePath(left[0]).name in ("manage.py", "django-admin"):
        return left[1:]
    return None


def _refuse_shell(text: str) -> None:
    """Raise NotTaken for anything that a shell would do more than to split words."""
    quote, escaped, start = "", False, True
    for character in text:
        if escaped:
            escaped, start = False, False
        elif character == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if character == quote else quote
            if character in _ALWAYS_SPECIAL and quote == '"':
                raise _shell(character)
        elif character in "\"'":
            quote, start = character, False
        elif character in _ALWAYS_SPECIAL or character in _SPECIAL or (start and character in _SPECIAL_FIRST):
            raise _shell(character)
        else:
            start = character.isspace()
    if quote or escaped:
        raise NotTaken(f"A quote ({quote or chr(92)}) is left open.")
    first = text.split(None, 1)[:1]
    if first and _ASSIGNMENT.match(first[0]):
        raise NotTaken(
            f"It sets {first[0].split('=')[0]} for its command, and jobs run in the environment of their worker. "
            "Set it there and take it out of the line, or say --map 'COMMAND=TYPE'."
        )


def _shell(character: str) -> NotTaken:
    return NotTaken(
        f"It needs a shell ({character!r}). Write a job type that does it and say --map 'COMMAND=TYPE'."
    )


def _first(words: list[str]) -> str:
    return repr(words[0][:80]) if words else "Nothing"
