"""The argument parser: complaints of one line that name the nearest known value."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import django
from django.core.management.base import CommandParser

from jobsplatform.kernel.errors import InvalidInput, did_you_mean
from tasks.cli.exits import WRONG_USE, Refused, one_line

MAY_BE_EMPTY = frozenset({"app", "tenant"})
"""Here an empty text says something: the host's own app, the global tenant."""


class Parser(CommandParser):
    """argparse without abbreviations. Errors: ``Refused`` in code, one line and exit code 2 in a shell."""

    def __init__(self, **kwargs: Any) -> None:
        # An abbreviation that works today is ambiguous once an option is added.
        super().__init__(**{**kwargs, "allow_abbrev": False})

    def error(self, message: str) -> NoReturn:
        text = one_line(message)
        if not self.called_from_command_line:
            raise Refused(text)
        self.exit(WRONG_USE, f"Error: {text} ('{self.prog} --help' shows how.)\n")
        raise AssertionError("exit does not return")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self.error(self._about_unknown(unknown[0], parsed))
        for value in _texts(vars(parsed).values()):
            if not storable(value):
                self.error(f"The argument {value!r} is not UTF-8 text.")
        empty = self._left_empty(parsed)
        if empty is not None:
            self.error(f"{empty} is empty. Leave it out, or say which.")
        return parsed

    def _left_empty(self, parsed: Any) -> str | None:
        """An option that was given an empty text, as an unset variable in a script does: dropped, it would mean
        all of them, at once, or for ever."""
        for action in self._chosen_actions(parsed):
            value = getattr(parsed, action.dest, None)
            if (
                action.option_strings
                and value == ""
                and action.default != ""
                and action.dest not in MAY_BE_EMPTY
            ):
                return action.option_strings[0]
        return None

    def _chosen_actions(self, parsed: Any) -> Iterable[argparse.Action]:
        """The arguments of this parser and of the subcommand that was chosen."""
        for action in self._actions:
            yield action
            if isinstance(action, argparse._SubParsersAction):
                chosen = action.choices.get(getattr(parsed, action.dest, None) or "")
                if chosen is not None:
                    yield from chosen._chosen_actions(parsed)

    def _about_unknown(self, argument: str, parsed: Any) -> str:
        if not argument.startswith("-"):
            return f"Unexpected argument {argument!r}."
        name = argument.split("=")[0]
        return f"Unknown option {name!r}.{did_you_mean(name, self._options_with(parsed))}"

    def _options_with(self, parsed: Any) -> set[str]:
        """Long options of this parser and of the subcommand that was chosen."""
        names = (name for action in self._chosen_actions(parsed) for name in action.option_strings)
        return {name for name in names if name.startswith("--")}

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            what = (action.metavar or action.dest) if isinstance(action.metavar, str | None) else action.dest
            known = [str(choice) for choice in action.choices]
            raise argparse.ArgumentError(
                None, f"Unknown {what.replace('_', ' ')} {str(value)!r}.{did_you_mean(str(value), known)}"
            )

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """As argparse does it, but our own errors keep their words."""
        try:
            return super()._get_value(action, arg_string)
        except InvalidInput as error:
            raise argparse.ArgumentError(action if action.option_strings else None, error.message) from None


def _texts(values: Iterable[Any]) -> Iterable[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | tuple):
            yield from _texts(value)


def storable(text: str) -> bool:
    """Whether it can be encoded: bytes of a shell that are no UTF-8 arrive as lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def add_common(parser: argparse.ArgumentParser, *, hidden: bool = False) -> None:
    """The options that Django gives every command; hidden after a subcommand, where they work as well."""

    def add(*names: str, text: str, **kwargs: Any) -> None:
        if hidden:
            kwargs |= {"default": argparse.SUPPRESS}
        parser.add_argument(*names, help=argparse.SUPPRESS if hidden else text, **kwargs)

    add("--version", action="version", version=django.get_version(), text="show Django's version")
    add("-v", "--verbosity", default=1, type=int, choices=[0, 1, 2, 3], text="how much is said")
    add("--settings", text="Python path of a settings module")
    add("--pythonpath", text="a folder to add to the Python path")
    add("--traceback", action="store_true", text="show the traceback behind an error")
    add("--no-color", action="store_true", text="no colours")
    add("--force-color", action="store_true", text="colours, also into a pipe")


def add_subcommands(parser: CommandParser, helps: Mapping[str, str]) -> dict[str, CommandParser]:
    """A parser for each name and its one line of help; ``options["subcommand"]`` holds the chosen name."""
    group = parser.add_subparsers(dest="subcommand", metavar="subcommand", required=True)
    made = {}
    for name, text in helps.items():
        made[name] = group.add_parser(name, help=text, description=text)
        add_common(made[name], hidden=True)
    return made
