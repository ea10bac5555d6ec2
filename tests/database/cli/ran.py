"""Running a command as code does, and as a shell does; what came of it."""

import io
import json
import logging
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.management import call_command, load_command_class
from django.core.management.base import CommandError


@dataclass
class Ran:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its stdout, which must be one JSON document and nothing else."""
        return json.loads(self.out)


_APPS = {"runplatform": "jobsplatform", "schedules": "scheduler", "scheduler": "scheduler"}


def ran(*argv: str) -> Ran:
    """Call a command; a CommandError's message joins what was printed on stderr."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    try:
        call_command(*argv, stdout=out, stderr=err)
    except CommandError as error:
        code = error.returncode
        err.write(f"{error}\n")
    return Ran(code, out.getvalue(), err.getvalue())


def from_shell(capsys: pytest.CaptureFixture[str], *argv: str) -> Ran:
    """Call a command's way in from a shell. It closes the database connection, as the end of a process does."""
    code: Any = 0
    app = _APPS.get(argv[0], "tasks")
    try:
        load_command_class(app, argv[0]).run_from_argv(["manage.py", *argv])
    except SystemExit as end:
        code = end.code
    finally:
        logging.disable(logging.NOTSET)
    captured = capsys.readouterr()
    return Ran(int(code or 0), captured.out, captured.err)
