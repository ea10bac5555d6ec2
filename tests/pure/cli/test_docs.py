"""docs/cli.md names every command, subcommand and option, and its examples can be typed."""

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import load_command_class

PAGE = Path(__file__).resolve().parents[3] / "docs" / "cli.md"
COMMANDS = {
    "jobs": "tasks",
    "handlers": "tasks",
    "suspend": "tasks",
    "unsuspend": "tasks",
    "processes": "tasks",
    "tokens": "tasks",
    "doctor": "tasks",
    "runplatform": "jobsplatform",
    "schedules": "scheduler",
    "scheduler": "scheduler",
}
SHARED = {"which-jobs": "Which jobs", "when": "When", "what-and-how": "What and how"}
"""Sections for options that several commands have, by the links to them."""
COMMON = {
    "--help",
    "--version",
    "--verbosity",
    "--settings",
    "--pythonpath",
    "--traceback",
    "--no-color",
    "--force-color",
}


def parser_of(command: str) -> argparse.ArgumentParser:
    return load_command_class(COMMANDS[command], command).create_parser("manage.py", command)


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def every_parser() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for command in COMMANDS:
        parser = parser_of(command)
        below = subparsers(parser)
        yield from ((f"{command} {name}", each) for name, each in below.items())
        if not below:
            yield command, parser


def section(title: str) -> str:
    found = re.search(
        rf"^##+ {re.escape(title)}$(.*?)(?=^##+ |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    assert found, f"docs/cli.md has no section {title!r}"
    return found[1]


def options(parser: argparse.ArgumentParser) -> set[str]:
    return {
        name for action in parser._actions for name in action.option_strings if name.startswith("--")
    } - COMMON


def named(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


@pytest.mark.parametrize(
    ("title", "parser"), list(every_parser()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_option_is_documented_and_no_other(title, parser):
    text = section(title)
    for anchor, shared in SHARED.items():
        if f"(#{anchor})" in text:
            text += section(shared)
    assert options(parser) - named(text) == set()
    assert named(text) - options(parser) - COMMON == set()


@pytest.mark.parametrize("title", [title for title, _ in every_parser()])
def test_every_command_has_an_example(title):
    assert re.search(rf"^    manage\.py {title}\b", section(title), re.MULTILINE)


@pytest.mark.parametrize("line", re.findall(r"^    manage\.py (.+)$", PAGE.read_text(), re.MULTILINE))
def test_every_example_can_be_typed(line):
    command, *argv = shlex.split(line)
    parser_of(command).parse_args(argv)


def test_the_common_options_are_explained():
    text = section("For people and for programs")
    assert {"--no-color", "--force-color", "--traceback"} <= named(text)


def test_every_exit_code_is_explained():
    from tasks.cli import exits

    codes = {value for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)}
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE.read_text(), re.MULTILINE)}
    assert told == codes


def test_every_check_of_the_doctor_is_explained():
    source = "".join(path.read_text() for path in (PAGE.parents[1] / "tasks" / "doctor").glob("*.py"))
    checks = set(re.findall(r"(?:ok|warning|fault|unreachable)\(\s*\"([a-z]+)\"", source)) | {
        "broker",
        "redis",
    }
    told = set(
        re.findall(r"[a-z]+", " ".join(re.findall(r"^\| ([a-z, ]+) \| ", section("doctor"), re.MULTILINE)))
    )
    assert checks - told == set()
