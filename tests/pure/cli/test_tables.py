"""Tables and text for terminals."""

import io

import pytest

from tasks.cli.results import result_lines
from tasks.cli.tables import Column, facts, table
from tasks.cli.terminal import Terminal
from tasks.cli.text import cut, plain, printable, width
from tests.pure.cli.screens import Screen

NAMES = ["Überprüfung nachts", "夜間バックアップ", "🚀 nightly", "نسخ احتياطي", "it's 100% 'fine'"]
COLUMNS = [Column("NAME", shrinks=True), Column("N", right=True)]


def terminal(columns: int = 40, colours: bool = False) -> Terminal:
    return Terminal(Screen(), colours=colours, columns=columns)


@pytest.mark.parametrize("name", NAMES)
def test_columns_stay_aligned_whatever_the_script(name):
    heading, first, second = table(terminal(), COLUMNS, [[name, 1], ["plain", 22]])
    assert name in first
    assert width(heading) == width(first) == width(second)


def test_a_line_fits_the_terminal_and_says_that_it_was_cut():
    lines = table(terminal(20), COLUMNS, [["a" * 100, 5], ["夜" * 100, 6]])
    assert all(width(line) <= 20 for line in lines)
    assert all("…" in line for line in lines[1:])


def test_into_a_pipe_nothing_is_cut():
    lines = table(Terminal(io.StringIO()), COLUMNS, [["a" * 200, 5]])
    assert "a" * 200 in lines[1]


def test_an_empty_cell_is_a_dash_and_zero_is_not():
    assert table(terminal(), COLUMNS, [["", 0]])[1].split() == ["-", "0"]


def test_colours_do_not_move_the_columns():
    column = Column("STATE", colour=lambda text: "red")
    painted = table(terminal(colours=True), [column, Column("X")], [["failed", "x"], ["ok", "y"]])
    assert "\x1b[31mfailed\x1b[0m  x" in painted[1]
    assert "\x1b[31mok    \x1b[0m  y" in painted[2]


@pytest.mark.parametrize("evil", ["\x1b[2J", "\x07", "a\rb", "\u202egnp.exe", "\x9b31m", "\ud800"])
def test_text_cannot_steer_the_terminal(evil):
    shown = plain(evil)
    assert not set(shown) & set("\x1b\x07\r\n\u202e\x9b\ud800")
    assert "\x1b" not in printable(f"line\n{evil}")


def test_a_traceback_keeps_its_lines():
    assert printable("a\n\tb") == "a\n    b"


def test_cutting_never_splits_a_wide_character_over_the_edge():
    assert cut("夜間夜間", 4) == "夜…"
    assert width(cut("夜間夜間", 5)) <= 5
    assert cut("short", 5) == "short"


def test_facts_are_aligned_and_leave_out_what_is_empty():
    assert facts({"a": 1, "long name": 0, "b": "", "c": None}) == ["a          1", "long name  0"]


def test_a_result_is_shown_as_facts_sections_and_tables():
    result = {
        "files": 1234,
        "bytes": 5_000_000,
        "by_type": {"text": 3, "image": 1},
        "largest": [{"path": "a", "bytes": 10}, {"path": "b", "bytes": 9}],
        "empty": [],
    }
    text = "\n".join(result_lines(terminal(80), result))
    assert "1,234" in text
    assert "5,000,000 (4.8 MiB)" in text
    assert "by type  text 3, image 1" in text
    assert "PATH" in text


@pytest.mark.parametrize(
    "value",
    [None, 5, "text", [], {}, [1, 2], [[1]], {"a": {"b": {"c": 1}}}, {"a": [{}]}, [None], [{"a": 1}, 2]],
)
def test_any_json_can_be_shown(value):
    assert isinstance(result_lines(terminal(), value), list)


def test_a_long_list_says_how_much_is_left_out():
    lines = result_lines(terminal(), [{"n": n} for n in range(100)])
    assert lines[-1] == "… and 90 more (--json shows all)"


def test_a_table_is_the_same_whatever_order_the_database_gives_the_names():
    first = {"a": {"files": 1, "bytes": 5}, "b": {"files": 2, "bytes": 7}}
    second = {"b": {"bytes": 7, "files": 2}, "a": {"bytes": 5, "files": 1}}
    lines = result_lines(terminal(), first)
    assert lines == result_lines(terminal(), second)
    assert [line.split()[0] for line in lines] == ["NAME", "b", "a"]
    rows = [{"bytes": 1, "paths": ["x", "y", "z", "q"], "name": "n"}]
    heading, row = result_lines(terminal(80), rows)
    assert heading.split() == ["NAME", "BYTES", "PATHS"]
    assert "x, y, z, … (4 in all)" in row
