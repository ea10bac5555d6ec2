"""The base of the schedule commands: with ``--json`` a refusal is a document too.

The document goes to stdout, ``{"error": {"code", "message", "suggestion"}}``; the line for people to stderr as
ever, and the exit code says the rest.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any, NoReturn

from jobsplatform.kernel.errors import InvalidInput, PlatformError
from scheduler.errors import ScheduleInvalid
from scheduler.timetables.errors import TimetableError
from tasks.cli import json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.exits import Refused, one_line, refusal
from tasks.cli.parser import Parser
from tasks.cli.terminal import Terminal

_QUESTION = " Did you mean "
_HINTS = (_QUESTION, " Known: ")


def error_output(error: BaseException) -> dict[str, Any] | None:
    """The document of a refusal; None for an error that is ours."""
    if isinstance(error, TimetableError):
        return _document(error.code, f"{error.field}: {error.message}", error.suggestion)
    if isinstance(error, PlatformError):
        facts = error.facts.get("suggestion")
        message, suggestion = split_hint(error.message)
        document = _document(error.code, message, str(facts) if facts else suggestion)
        if isinstance(error, ScheduleInvalid):
            document["error"] |= _faults(error)
        return document
    complaint = refusal(error)
    if complaint is None or not str(complaint):
        return None
    message, suggestion = split_hint(str(complaint))
    return _document("UNREACHABLE" if complaint.returncode == 3 else InvalidInput.code, message, suggestion)


def _faults(error: ScheduleInvalid) -> dict[str, Any]:
    """Each fault by itself, and the first one's correction as the suggestion."""
    suggestion = next((fault.suggestion for fault in error.faults if fault.suggestion), "")
    return {"suggestion": suggestion, "faults": [asdict(fault) for fault in error.faults]}


def split_hint(text: str) -> tuple[str, str]:
    """A message, and the suggestion that it ends with."""
    for hint in _HINTS:
        before, found, after = text.partition(hint)
        if found:
            return before, f"{hint.strip()} {after}"
    return text, ""


def _document(code: str, message: str, suggestion: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": one_line(message), "suggestion": one_line(suggestion)}}


class DocumentParser(Parser):
    """A parser whose complaints are documents as well, when ``--json`` stands among the arguments."""

    always = False
    _json = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._json = self.always or "--json" in [
            str(word) for word in (sys.argv[1:] if args is None else args)
        ]
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        if self._json and self.called_from_command_line:
            text, suggestion = split_hint(one_line(message))
            json_output.document(Terminal(sys.stdout), _document(InvalidInput.code, text, suggestion))
        super().error(message)


class ScheduleCommand(PlatformCommand):
    """A command about schedules: refused timetables are one line, and a document when ``--json`` is asked."""

    quiet = True
    parser_class = DocumentParser

    def act(self, options: dict[str, Any]) -> int | None:
        try:
            return self.do(options)
        except BrokenPipeError:
            raise
        except Exception as error:
            if options.get("json"):
                told = error_output(error)
                if told is not None:
                    json_output.document(self.out, told)
            if isinstance(error, TimetableError):
                raise Refused(one_line(error)) from error
            raise

    def do(self, options: dict[str, Any]) -> int | None:
        """Do it; the exit code, None for 0. What it raises becomes a line, and a document."""
        raise Refused(f"{type(self).__module__.rpartition('.')[2]} has nothing to do.")
