"""The processes that the pack starts and kills: the sidecar under trial, and what turns the platform."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

STOP_SECONDS = 60.0

_GUARD = 'read -r released && exit 0; kill -KILL -- "-$1" 2>/dev/null'
"""A shell that ends a sidecar when the pipe from this process is closed, however this process has ended."""


@dataclass(slots=True)
class Process:
    """One sidecar in a process group of its own; its output in a file."""

    popen: subprocess.Popen[bytes]
    log: Path
    guard: subprocess.Popen[bytes]
    ready: bool = False

    @property
    def running(self) -> bool:
        return self.popen.poll() is None

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        """End it and its children at once, without a chance to say anything."""
        try:
            os.killpg(self.popen.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.popen.wait()
        self._release()

    def terminate(self) -> int:
        """Ask it to end in good order (SIGTERM); its exit code."""
        self.popen.send_signal(signal.SIGTERM)
        code = self.popen.wait(STOP_SECONDS)
        self._release()
        return code

    def _release(self) -> None:
        self.guard.communicate(b"released\n")


@dataclass(slots=True)
class Sidecars:
    """Starts sidecars by ``command``; whatever still runs at the end is killed."""

    command: str
    url: str
    token_file: Path
    folder: Path
    started: list[Process] = field(default_factory=list)

    @property
    def current(self) -> Process:
        """The one that runs now; started when there is none."""
        alive = [process for process in self.started if process.running]
        return alive[-1] if alive else self.start()

    def start(self) -> Process:
        """One more."""
        log = self.folder / f"sidecar-{len(self.started) + 1}.log"
        words = [word.format(url=self.url, token_file=self.token_file) for word in shlex.split(self.command)]
        with log.open("wb") as output:
            popen = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        guard = subprocess.Popen(["/bin/sh", "-c", _GUARD, "guard", str(popen.pid)], stdin=subprocess.PIPE)
        self.started.append(Process(popen, log, guard))
        return self.started[-1]

    def kill_all(self) -> None:
        for process in self.started:
            if process.guard.poll() is None:
                process.kill()


@dataclass(frozen=True, slots=True)
class Operator:
    """Runs the command that does what no bus method does, with a verb after it."""

    command: str

    def do(self, *words: str) -> None:
        """``restart``: stop the platform and start it again, and come back when it has begun; ``suspend TYPE``:
        with running jobs interrupted; ``unsuspend TYPE``. Raises CalledProcessError."""
        subprocess.run([*shlex.split(self.command), *words], check=True, timeout=120)
