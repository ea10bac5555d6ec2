"""Child processes of a measurement: started with nothing of our environment, gone with us."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import psutil

from benchmarks.errors import NotMeasured
from tests.services.guard import Guard

ROOT = Path(__file__).resolve().parents[1]
STOP_SECONDS = 20.0
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """What a child gets: no setting of ours or of a rival may leak in from the shell."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONTZPATH": "", **extra}


class Child:
    """One process and the processes below it; its output goes to a file. ``talks``: it has pipes for both ways."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        *,
        talks: bool = False,
    ) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
                stdout=subprocess.PIPE if talks else output,
                stderr=output,
                env=clean_environment(environment),
                cwd=ROOT,
                start_new_session=True,
            )
        self._guard = Guard(self._process.pid, log.with_suffix(".none"))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        """Into it and out of it; only when it talks."""
        assert self._process.stdin is not None and self._process.stdout is not None
        return self._process.stdin, self._process.stdout

    def require_alive(self) -> None:
        """Raises NotMeasured with its last words when it has ended."""
        code = self._process.poll()
        if code is not None:
            raise NotMeasured(f"{self.name} ended with exit code {code}: {self.last_words()}")

    def last_words(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return lines[-1][-300:] if lines else "it said nothing"

    def tree(self) -> list[psutil.Process]:
        """It and all below it."""
        try:
            main = psutil.Process(self.pid)
            return [main, *main.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def stop(self, *, kindly: bool = True) -> None:
        """End it with all below it: in good order, else by force; at once by force when not ``kindly``."""
        family = self.tree()
        if kindly and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                pass
        for process in family:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                pass  # it ended by itself, as it should
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._guard.release()


def cpu_seconds(children: Sequence[Child]) -> float:
    """User and system time of all processes so far."""
    total = 0.0
    for process in (process for child in children for process in child.tree()):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def main_memory(child: Child) -> float:
    """MiB of its main process: what is resident, shared pages included."""
    return float(psutil.Process(child.pid).memory_info().rss) / 2**20


def whole_memory(children: Sequence[Child]) -> float:
    """MiB of all processes; a page that several share counts once. Raises NotMeasured where only Linux knows."""
    total = 0
    for process in (process for child in children for process in child.tree()):
        info = process.memory_full_info()
        if not hasattr(info, "pss"):
            raise NotMeasured("this system does not say how much memory processes share; run it on Linux")
        total += info.pss
    return total / 2**20
