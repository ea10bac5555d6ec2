"""Live progress: a bar that redraws itself on a terminal, plain lines elsewhere. Drawn on stderr."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.cli.spans import length
from tasks.cli.terminal import Terminal
from tasks.cli.text import cut, plain, width

_BAR = 24
_BLOCKS, _ASCII = ("█", "░"), ("#", ".")
PLAIN_EVERY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Reading:
    """How far it is: a state, and as much of the rest as is known."""

    state: str
    done: float | None = None
    total: float | None = None
    label: str = ""
    eta: float | None = None

    @property
    def fraction(self) -> float | None:
        """From 0 to 1; None when the total is not known."""
        if self.done is None or not self.total or self.total <= 0:
            return None
        return min(1.0, max(0.0, self.done / self.total))

    def text(self) -> str:
        """``running 45% 9/20 ETA 1m05s usr/share``, as far as known."""
        parts = [self.state]
        if self.fraction is not None:
            parts.append(f"{self.fraction * 100:.0f}%")
        if self.done is not None:
            parts.append(_number(self.done) + (f"/{_number(self.total)}" if self.total else ""))
        if self.eta is not None:
            parts.append(f"ETA {length(self.eta)}")
        if self.label:
            parts.append(plain(self.label))
        return " ".join(parts)


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


class ProgressBar:
    """Shows readings on a stream; ``note`` prints a line between them."""

    def __init__(self, terminal: Terminal, title: str) -> None:
        self._terminal = terminal
        self._title = plain(title)
        self._drawn = False
        self._last: tuple[Reading, float] | None = None

    def show(self, reading: Reading, elapsed: float) -> None:
        """Draw ``reading``, ``elapsed`` seconds after the start; off a terminal only news, one in 5 s."""
        if self._terminal.is_tty:
            self._terminal.raw(f"\r\x1b[K{self._bar(reading, elapsed)}")
            self._drawn = True
        elif self._is_news(reading, elapsed):
            self._terminal.line(f"{self._title}: {reading.text()} ({length(elapsed)})")
            self._last = (reading, elapsed)

    def note(self, text: str) -> None:
        """A line of its own; the bar goes on below it."""
        self.clear()
        self._terminal.line(text)

    def clear(self) -> None:
        """Take the bar away."""
        if self._drawn:
            self._terminal.raw("\r\x1b[K")
            self._drawn = False

    def _is_news(self, reading: Reading, elapsed: float) -> bool:
        if self._last is None or self._last[0].state != reading.state:
            return True
        return reading != self._last[0] and elapsed - self._last[1] >= PLAIN_EVERY_SECONDS

    def _bar(self, reading: Reading, elapsed: float) -> str:
        # One column stays free: a full line would wrap, and the next redraw would leave it standing.
        room = self._terminal.columns - 1
        title = cut(self._title, max(8, room // 4))
        fraction = reading.fraction
        bar = ""
        if fraction is not None and room >= 60:
            done = round(fraction * _BAR)
            full, empty = _BLOCKS if self._unicode() else _ASCII
            bar = f"{self._terminal.paint(full * done, 'green')}{empty * (_BAR - done)} "
        used = width(title) + 1 + (_BAR + 1 if bar else 0)
        return f"{title} {bar}{cut(f'{reading.text()} ({length(elapsed)})', max(8, room - used))}"

    def _unicode(self) -> bool:
        return (getattr(self._terminal.stream, "encoding", None) or "utf-8").lower().startswith("utf")
