"""Colours, widths, the progress bar and JSON on different streams."""

import io
import json
from datetime import UTC, datetime
from uuid import UUID

import pytest

from jobsplatform.kernel import config
from tasks.cli import json_output
from tasks.cli.progress_bar import ProgressBar, Reading
from tasks.cli.terminal import Terminal
from tasks.cli.text import width
from tests.pure.cli.screens import Screen


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm"}, True),
    ],
)
def test_colours_are_wanted_unless_the_environment_says_no(environ, wanted):
    assert config.colours_wanted(environ) is wanted


def test_only_a_terminal_is_painted(monkeypatch):
    monkeypatch.setattr(config, "colours_wanted", lambda: True)
    assert Terminal(io.StringIO()).paint("x", "red") == "x"
    assert Terminal(Screen()).paint("x", "red") == "\x1b[31mx\x1b[0m"
    monkeypatch.setattr(config, "colours_wanted", lambda: False)
    assert Terminal(Screen()).paint("x", "red") == "x"


def test_a_closed_stream_is_no_terminal():
    stream = io.StringIO()
    stream.close()
    assert not Terminal(stream).is_tty


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
@pytest.mark.parametrize("label", ["", "usr/share/doc", "夜間" * 50])
def test_the_bar_never_fills_the_line(columns, label):
    screen = Screen()
    bar = ProgressBar(Terminal(screen, colours=False, columns=columns), "files.scan")
    bar.show(Reading("running", 5, 20, label, 65), 12.0)
    drawn = screen.getvalue().removeprefix("\r\x1b[K")
    assert "\n" not in drawn
    assert width(drawn) < columns


def test_the_bar_shows_how_far_it_is():
    screen = Screen()
    ProgressBar(Terminal(screen, colours=False, columns=100), "scan").show(
        Reading("running", 5, 20, "usr", 65), 12.0
    )
    assert "██████░" in screen.getvalue()
    assert "running 25% 5/20 ETA 1m05s usr (12.0s)" in screen.getvalue()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_block_characters_gets_plain_ones(encoding):
    screen = Screen(encoding)
    ProgressBar(Terminal(screen, colours=False, columns=100), "scan").show(Reading("running", 5, 20), 1.0)
    screen.getvalue().encode("ascii")
    assert "######." in screen.getvalue()


@pytest.mark.parametrize(
    "reading", [Reading("running", 5, 0), Reading("running", 30, 20), Reading("running", -1, 20)]
)
def test_odd_numbers_make_an_odd_bar_and_no_error(reading):
    screen = Screen()
    ProgressBar(Terminal(screen, columns=80), "scan").show(reading, 1.0)
    assert "running" in screen.getvalue()


def test_off_a_terminal_only_news_are_printed():
    stream = io.StringIO()
    bar = ProgressBar(Terminal(stream), "scan")
    for second in range(12):
        bar.show(Reading("running", second, 20), float(second))
    bar.show(Reading("waiting", 12, 20), 11.1)
    lines = stream.getvalue().splitlines()
    assert [line.split()[1] for line in lines] == ["running", "running", "running", "waiting"]
    assert "\x1b" not in stream.getvalue()


def test_a_note_stands_on_a_line_of_its_own():
    screen = Screen()
    bar = ProgressBar(Terminal(screen, columns=80), "scan")
    bar.show(Reading("pending"), 4.0)
    bar.note("No worker is alive.")
    assert screen.getvalue().endswith("\r\x1b[KNo worker is alive.\n")


def test_json_keeps_names_and_escapes_where_the_stream_cannot():
    value = {"name": "夜間", "at": datetime(2026, 1, 1, tzinfo=UTC), "id": UUID(int=1)}
    for encoding, as_is in (("utf-8", True), ("ascii", False)):
        screen = Screen(encoding)
        json_output.document(Terminal(screen), value)
        assert ("夜間" in screen.getvalue()) is as_is
        assert json.loads(screen.getvalue()) == {
            "name": "夜間",
            "at": "2026-01-01T00:00:00Z",
            "id": str(UUID(int=1)),
        }
