"""What really ran: one append-only file that the handlers write, a line a fact. Needs nothing but the standard
library, and trusts nothing of the platform.

    what  monotonic-ns  job  lease  attempt  pid  note

``what``: start (note: what the machine's clock says to the handler), tick (at work), saved (a checkpoint is safe; note:
its number), step (note: its number), spawned and gather (a parent before and after its children), end (the work is
done), fail (the handler is about to raise), left (it was asked to stop, or its lease was lost). The harness adds frozen
and thawed (note: the process); a worker's broker client may add delivered (see ``chaos.twists``).
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FILE = "CHAOS_LEDGER"
"""Environment variable with the file's path."""

_open: dict[str, int] = {}


def append(what: str, job: object, lease: int, attempt: int, note: object = "-") -> None:
    """Add one line, in one system call that no other process can split and no kill can halve."""
    path = os.environ[FILE]
    descriptor = _open.get(path)
    if descriptor is None:
        descriptor = _open[path] = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    line = f"{what} {time.monotonic_ns()} {job} {lease} {attempt} {os.getpid()} {note}\n"
    os.write(descriptor, line.encode())


@dataclass(frozen=True, slots=True)
class Line:
    """One fact; ``at`` in seconds of the clock that all processes of a machine share."""

    what: str
    at: float
    job: str
    lease: int
    attempt: int
    pid: int
    note: str


@dataclass(slots=True)
class Run:
    """What one run of a job wrote."""

    job: str
    lease: int
    lines: list[Line] = field(default_factory=list)

    @property
    def starts(self) -> int:
        return sum(line.what == "start" for line in self.lines)

    @property
    def ended(self) -> bool:
        """Whether the work was done to its end."""
        return any(line.what == "end" for line in self.lines)

    @property
    def unfinished(self) -> bool:
        """Whether it stopped without a word."""
        return not any(line.what in ("end", "fail", "left") for line in self.lines)

    @property
    def first(self) -> Line:
        return self.lines[0]

    @property
    def last(self) -> Line:
        return self.lines[-1]


class Ledger:
    """Reads the file; ``lines`` grows with each ``refresh``, until ``forget``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self.lines: list[Line] = []

    def refresh(self) -> list[Line]:
        """All lines so far."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                text = file.read()
        except FileNotFoundError:
            return self.lines
        whole = text[: text.rfind(b"\n") + 1]
        self._offset += len(whole)
        self.lines.extend(_parse(line) for line in whole.decode().splitlines())
        return self.lines

    def forget(self) -> None:
        """Drop what has been written so far."""
        self.refresh()
        self.lines.clear()

    def count(self, what: str, since: float = 0.0) -> int:
        """Lines of one kind since an instant."""
        return sum(line.what == what and line.at >= since for line in self.refresh())

    def runs(self, jobs: set[str]) -> dict[str, list[Run]]:
        """The runs of these jobs, each in the order of their first lines."""
        found: dict[str, dict[int, Run]] = defaultdict(dict)
        for line in self.refresh():
            if line.job in jobs and line.what != "delivered":
                found[line.job].setdefault(line.lease, Run(line.job, line.lease)).lines.append(line)
        return {job: sorted(runs.values(), key=lambda run: run.first.at) for job, runs in found.items()}

    def deliveries(self) -> dict[tuple[str, int], list[Line]]:
        """(job or pack, lease or 0): when its message was delivered, by workers that note that."""
        found: dict[tuple[str, int], list[Line]] = defaultdict(list)
        for line in self.refresh():
            if line.what == "delivered":
                found[line.job, line.lease].append(line)
        return found

    def frozen(self) -> Iterator[tuple[int, float, float]]:
        """(pid, from, until) of every process that was stopped for a while."""
        since: dict[int, float] = {}
        for line in self.refresh():
            if line.what == "frozen":
                since[int(line.note)] = line.at
            elif line.what == "thawed" and int(line.note) in since:
                yield int(line.note), since.pop(int(line.note)), line.at
        for pid, at in since.items():
            yield pid, at, float("inf")


def _parse(text: str) -> Line:
    what, at, job, lease, attempt, pid, note = text.split(" ", 6)
    return Line(what, int(at) / 1e9, job, int(lease), int(attempt), int(pid), note)
