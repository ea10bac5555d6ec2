"""``manage.py doctor``: is the platform well, and if not, what to do."""

from __future__ import annotations

import textwrap
from typing import Any

from django.core.management.base import CommandParser

from tasks.cli import json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.exits import DONE, UNREACHABLE
from tasks.cli.terminal import Terminal
from tasks.cli.text import plain
from tasks.doctor.examine import examine
from tasks.doctor.finding import Finding, Level

FAULTS_FOUND = 1
_COLOURS = {Level.OK: "green", Level.WARNING: "yellow", Level.FAULT: "red", Level.UNREACHABLE: "red"}
_MARGIN = 26


class Command(PlatformCommand):
    quiet = True
    help = (
        "Look at everything that jobs depend on. Exit code 0: all well or warnings only; 1: faults; "
        "3: something is unreachable."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help='{"ok": …, "exit_code": …, "checks": […]}')

    def act(self, options: dict[str, Any]) -> int:
        findings = []
        for finding in examine():
            findings.append(finding)
            if not options["json"]:
                _say(self.out, finding)
        code = exit_code(findings)
        if options["json"]:
            checks = [output(finding) for finding in findings]
            json_output.document(self.out, {"ok": code == DONE, "exit_code": code, "checks": checks})
        else:
            self.out.line(_verdict(findings))
        return code


def exit_code(findings: list[Finding]) -> int:
    """3 when something is unreachable, else 1 when something is at fault, else 0."""
    levels = {finding.level for finding in findings}
    if Level.UNREACHABLE in levels:
        return UNREACHABLE
    return FAULTS_FOUND if Level.FAULT in levels else DONE


def output(finding: Finding) -> dict[str, Any]:
    """A finding as JSON."""
    return {
        "check": finding.check,
        "level": finding.level.value,
        "text": finding.text,
        "advice": finding.advice,
        "facts": dict(finding.facts),
    }


def _say(terminal: Terminal, finding: Finding) -> None:
    label = terminal.paint(f"{finding.level:<11}", _COLOURS[finding.level])
    text = plain(f"{finding.text} {finding.advice}".strip())
    lines = [text]
    if terminal.is_tty:
        room = max(30, terminal.columns - _MARGIN)
        lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [text]
    terminal.line(f"{label}  {finding.check:<11}  {lines[0]}")
    for line in lines[1:]:
        terminal.line(" " * _MARGIN + line)


def _verdict(findings: list[Finding]) -> str:
    counts = {level: sum(finding.level is level for finding in findings) for level in Level}
    bad = [f"{count} {level}{'s' if count > 1 and level is not Level.UNREACHABLE else ''}"
           for level, count in counts.items() if count and level is not Level.OK]  # fmt: skip
    return f"\n{', '.join(bad)}." if bad else "\nAll is well."
