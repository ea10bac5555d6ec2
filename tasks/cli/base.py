"""The base of all commands: arguments checked, errors as one line, exit codes that mean something.

Called from a shell, a fault is one line on stderr and an exit code (``tasks.cli.exits``). Called by
``call_command``, it is a ``CommandError`` whose ``returncode`` is that code.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser, DjangoHelpFormatter, SystemCheckError
from django.db import connections

from tasks.cli.exits import DONE, INTERRUPTED, READER_GONE, WRONG_USE, Refused, refusal
from tasks.cli.parser import Parser, add_common
from tasks.cli.terminal import Terminal


class PlatformCommand(BaseCommand):
    """A command that implements ``act``; what that raises becomes a line and an exit code."""

    # Servers refuse to start with unsafe settings, and `doctor` tells of them; a look at a job need not fail.
    requires_system_checks: Any = ()
    # Whether log lines stay out of the way of what is printed, unless -v 2 asks for them. Servers log.
    quiet: bool = False
    program = "python manage.py"
    colours: bool | None = None
    parser_class: type[Parser] = Parser

    def act(self, options: dict[str, Any]) -> int | None:
        """Do it; the exit code, None for 0. Errors of ``jobsplatform.kernel.errors`` may be raised."""
        raise Refused(f"{type(self).__module__.rpartition('.')[2]} has nothing to do.")

    @property
    def out(self) -> Terminal:
        """Where results go."""
        return Terminal(self.stdout, colours=self.colours)

    @property
    def err(self) -> Terminal:
        """Where remarks and progress go."""
        return Terminal(self.stderr, colours=self.colours)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Django's parser with our words: one line, and the nearest known name."""
        kwargs.setdefault("formatter_class", DjangoHelpFormatter)
        parser = self.parser_class(
            prog=f"{os.path.basename(prog_name)} {subcommand}",
            description=self.help or None,
            called_from_command_line=getattr(self, "_called_from_command_line", None),
            **kwargs,
        )
        add_common(parser)
        if self.requires_system_checks:
            parser.add_argument(
                "--skip-checks", action="store_true", help="do not look at the settings first"
            )
        self.add_arguments(parser)
        return parser

    def run_from_argv(self, argv: list[str]) -> None:
        """The way from a shell: never a traceback for what a user or an absent server did."""
        self._called_from_command_line = True
        self.program = f"{_python()} {argv[0]}" if argv[0].endswith(".py") else os.path.basename(argv[0])
        _carry_any_text(sys.stdout)
        _carry_any_text(sys.stderr)
        options = vars(self.create_parser(argv[0], argv[1]).parse_args(argv[2:]))
        if self.quiet and options["verbosity"] < 2:
            logging.disable(logging.WARNING)
        try:
            self.execute(**options)
            self.stdout.flush()
        except Refused as error:
            if options["traceback"] and error.__cause__ is not None:
                raise
            if str(error):
                self.stderr.write(f"Error: {error}", lambda text: text)
            sys.exit(error.returncode)
        except SystemCheckError as error:
            # Several lines: one a complaint, with its hint.
            self.stderr.write(str(error), lambda text: text)
            sys.exit(WRONG_USE)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        except BrokenPipeError:
            _forget_stdout()
            sys.exit(READER_GONE)
        finally:
            connections.close_all()

    def execute(self, *args: Any, **options: Any) -> Any:
        self.colours = True if options["force_color"] else False if options["no_color"] else None
        return super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            code = self.act(options) or DONE
        except BrokenPipeError:
            raise
        except Exception as error:
            complaint = refusal(error)
            if complaint is None or complaint is error:
                raise
            raise complaint from error
        if code != DONE:
            raise Ended(code, called_from_shell=getattr(self, "_called_from_command_line", False))


class Ended(Refused):
    """The command has said what there was to say, and ends with a code that is not 0."""

    def __init__(self, returncode: int, *, called_from_shell: bool) -> None:
        super().__init__("" if called_from_shell else f"Ended with exit code {returncode}.", returncode)


def _python() -> str:
    """How to call the interpreter that runs this, from the folder it was called in."""
    found = shutil.which("python")
    if found is not None and os.path.abspath(found) == os.path.abspath(sys.executable):
        return "python"
    below = os.path.relpath(sys.executable)
    return sys.executable if below.startswith(os.pardir) else below


def _carry_any_text(stream: Any) -> None:
    """A name that the stream's encoding cannot carry is escaped instead of ending the command."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")


def _forget_stdout() -> None:
    """Nobody reads any more: the interpreter's last flush must not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
