"""What the streams can show: colours and width."""

from __future__ import annotations

import shutil
from typing import Any

from jobsplatform.kernel import config

DEFAULT_WIDTH = 80
_CODES = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36", "dim": "2", "bold": "1"}
STATE_COLOURS = {
    "pending": "dim",
    "dispatched": "cyan",
    "running": "cyan",
    "waiting": "blue",
    "paused": "yellow",
    "completed": "green",
    "failed": "red",
    "cancelled": "yellow",
}


class Terminal:
    """One output stream: whether people look at it, how wide it is, and colours where they are wanted."""

    def __init__(self, stream: Any, *, colours: bool | None = None, columns: int | None = None) -> None:
        self.stream = stream
        self.is_tty = is_tty(stream)
        self.colours = self.is_tty and config.colours_wanted() if colours is None else colours
        self._columns = columns

    @property
    def columns(self) -> int:
        """The width: of the terminal now, or 80 when there is none to ask."""
        if self._columns is not None:
            return self._columns
        if not self.is_tty:
            return DEFAULT_WIDTH
        return max(20, shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns)

    def inset(self, blanks: int) -> Terminal:
        """The same stream for lines that will be indented by ``blanks``."""
        return Terminal(self.stream, colours=self.colours, columns=max(20, self.columns - blanks))

    def paint(self, text: str, colour: str) -> str:
        """``text`` in ``colour``, or as it is when colours are not wanted."""
        if not self.colours or not colour or not text:
            return text
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"

    def line(self, text: str = "") -> None:
        """Write one line and hand it on at once."""
        self.raw(text + "\n")

    def raw(self, text: str) -> None:
        """Write as it is and hand it on at once."""
        # Django's wrapper adds a line end of its own, and paints all of stderr red, unless told not to.
        if hasattr(self.stream, "ending"):
            self.stream.write(text, _as_it_is, ending="")
        else:
            self.stream.write(text)
        self.stream.flush()


def _as_it_is(text: str) -> str:
    return text


def is_tty(stream: Any) -> bool:
    """Whether a person looks at ``stream``; a closed or odd stream is no terminal."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False
