"""Worker processes, and waiting for what becomes of jobs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import psutil

from jobsplatform.kernel.loop import wait_until
from jobsplatform.kernel.models import Process
from tasks.models import Job
from tasks.states import FINAL, State
from tests.services.guard import Guard

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30.0
"""Every wait here ends by its condition; this is how long a broken one may take to be told."""

T = TypeVar("T")


def until(predicate: Callable[[], T], seconds: float = PATIENCE) -> T:
    """Wait for a condition; its answer. Raises TimeoutError."""
    return wait_until(predicate, seconds, every=0.02)


def ended(job_id: UUID) -> Job:
    """The job, once it has ended."""
    return until(lambda: Job.objects.filter(id=job_id, state__in=sorted(FINAL)).first())


def in_state(job_id: UUID, *states: State) -> Job:
    """The job, once it is in one of these states."""
    return until(lambda: Job.objects.filter(id=job_id, state__in=states).first())


def notes(path: str, what: str = "start") -> list[int]:
    """The process ids of all starts (or ends …) that a job has noted."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    return [int(line.split()[1]) for line in lines if line.split()[0] == what]


class Command:
    """One of the platform's processes, its output in a file."""

    def __init__(self, log: Path, environment: dict[str, str], command: Sequence[str]) -> None:
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=ROOT,
                start_new_session=True,
            )
        # A killed pytest must take it along; the folder is none that exists.
        self.guard = Guard(self.process.pid, log.with_suffix(".none"))

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def said(self, words: str) -> bool:
        """Whether the words are in the output, once they are or the process has ended."""

        def heard() -> bool:
            return words in self.output or self.process.poll() is not None

        until(heard)
        return words in self.output

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def exit_code(self, seconds: float = PATIENCE) -> int:
        """Its exit code, once it has ended. Raises subprocess.TimeoutExpired."""
        return self.process.wait(seconds)

    def kill(self) -> None:
        """End it and all its children at once."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.guard.release()


class Worker(Command):
    """A Celery worker of the platform."""

    def __init__(self, log: Path, environment: dict[str, str], arguments: Sequence[str], app: str) -> None:
        command = [sys.executable, "-m", "celery", "-A", app, "--quiet", "worker", *arguments]
        super().__init__(log, environment, [*command, "--without-mingle", "--without-gossip"])

    @property
    def row(self) -> Process | None:
        """Its newest incarnation."""
        rows = Process.objects.filter(pid=self.pid, role="worker").order_by("-started_at")
        return rows.first()

    @property
    def process_id(self) -> UUID:
        row = self.row
        assert row is not None
        return row.pk

    def wait_ready(self) -> None:
        """Until it takes jobs. Raises AssertionError with its last words when it ended."""

        def up() -> bool:
            return " ready." in self.output or self.process.poll() is not None

        until(up)
        assert self.process.poll() is None, self.output[-3000:]

    @property
    def children(self) -> list[psutil.Process]:
        found = psutil.Process(self.pid).children()
        return [child for child in found if child.status() != psutil.STATUS_ZOMBIE]

    def events(self, name: str) -> list[dict[str, Any]]:
        """The log lines of one event."""
        found = []
        for line in self.output.splitlines():
            if line.startswith("{"):
                fields = json.loads(line)
                if fields.get("event") == name:
                    found.append(fields)
        return found
