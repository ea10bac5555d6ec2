"""What PostgreSQL and Valkey have in common: start, wait until ready, stop, kill, restart."""

import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.services.accounts import Account
from tests.services.guard import Guard

# Servers get nothing of our environment: locale, time zone and library paths must not decide what tests see.
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
READY_SECONDS = 30.0
STOP_SECONDS = 10.0
_STEP = 0.02


class ServerError(Exception):
    """A server is missing or did not start; the message says what to do, or the server's last words."""


class Server:
    """One server process in a folder of its own. Use it as a context manager, or call `stop`."""

    name = "server"
    stop_signal = signal.SIGTERM

    def __init__(self, folder: Path, account: Account) -> None:
        self.folder = folder
        self._account = account
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: Guard | None = None

    @property
    def url(self) -> str:
        """Where clients connect; the same after a restart."""
        raise TypeError(f"{type(self).__name__} has no url")

    @property
    def pid(self) -> int | None:
        """The server's process id, None while it is down."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start and wait until it answers.

        Raises ServerError when it has not answered after 30 seconds.
        """
        for _ in range(int(READY_SECONDS / _STEP)):
            if self._process is None:
                self._spawn(self._command())
            if self._wait(_STEP):
                if not self._may_try_again():
                    raise ServerError(f"{self.name} ended at once: {self._last_words()}")
                self._process = None
            elif self._answers():
                return
        self.kill()
        raise ServerError(f"{self.name} did not answer in {READY_SECONDS:.0f} s: {self._last_words()}")

    def stop(self) -> None:
        """Stop in good order and remove the folder. Stopping twice does nothing."""
        self._end(self.stop_signal)
        shutil.rmtree(self.folder, ignore_errors=True)

    def kill(self) -> None:
        """End without any warning (SIGKILL), as a power cut would; `restart` brings the server back."""
        self._end(signal.SIGKILL)

    def halt(self) -> None:
        """Stop in good order and keep the data; `restart` brings the server back."""
        self._end(self.stop_signal)

    def restart(self) -> None:
        """Start again with the same data and url, after stopping it when it still runs."""
        self.halt()
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _command(self) -> Sequence[str]:
        raise TypeError(f"{type(self).__name__} has no command")

    def _answers(self) -> bool:
        raise TypeError(f"{type(self).__name__} cannot be asked")

    def _may_try_again(self) -> bool:
        """Whether a start that ended at once is worth another try."""
        return False

    def _spawn(self, command: Sequence[str]) -> None:
        if self._guard is not None:
            self._guard.release()
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=ENVIRONMENT,
                start_new_session=True,  # Ctrl-C in the terminal is for the owner, who then stops us
                **self._account.popen_options(),
            )
        self._guard = Guard(self._process.pid, self.folder)

    def _run(self, command: Sequence[str]) -> None:
        """Run a program of the server to its end, guarded like the server. Raises ServerError."""
        self._spawn(command)
        process = self._process
        if not self._wait(READY_SECONDS) or process is None or process.returncode:
            raise ServerError(f"{Path(command[0]).name} failed: {self._last_words()}")
        self._process = None

    def _wait(self, seconds: float) -> bool:
        """Whether the process has ended, after waiting for that at most so long."""
        if self._process is None:
            return True
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _end(self, signal_number: int) -> None:
        if self._process is not None:
            self._process.send_signal(signal_number)
            if not self._wait(STOP_SECONDS):
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._guard is not None:
            self._guard.release()
            self._guard = None

    def _last_words(self) -> str:
        lines = (self.folder / "log").read_text(errors="replace").strip().splitlines()
        return " / ".join(lines[-5:]) or "it said nothing"
