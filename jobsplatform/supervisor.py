"""With a REDIS_URL: a web process, a prefork worker and a scheduler as real processes, watched and restarted here."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from celery.platforms import set_pdeathsig

from jobsplatform import web
from jobsplatform.kernel import clock, config
from jobsplatform.kernel.bell import Bell

LOOK_SECONDS = 0.2
LONGEST_PAUSE = 30.0
STEADY_SECONDS = 60.0
"""A child that lived this long may be restarted at once again."""

KILL_SECONDS = 5.0


@dataclass
class Child:
    """One process, and how it is to be ended."""

    name: str
    command: Sequence[str]
    grace: float
    inherited: tuple[int, ...] = ()
    speaks: bool = True  # its output, beside its log
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    pause: float = field(default=1.0)
    restart_at: float = 0.0

    def start(self) -> None:
        self.started_at = clock.monotonic()
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=None if self.speaks else subprocess.DEVNULL,
            # Ctrl-C in the terminal is for the parent, which ends its children in order.
            start_new_session=True,
            pass_fds=self.inherited,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 (this process has no other thread)
        )

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def signal(self, number: int) -> None:
        if self.process is not None and self.running:
            self.process.send_signal(number)


def _end_with_parent() -> None:
    # A parent that is killed takes its children along (on Linux; elsewhere they live on by themselves).
    set_pdeathsig("SIGTERM")


class Supervisor:
    """Keeps its children running until a signal comes; then ends them in order."""

    def __init__(self, children: Sequence[Child], say: Callable[[str], None]) -> None:
        self._children = children
        self._say = say
        self._bell = Bell()

    def run(self, on_ready: Callable[[], None]) -> int:
        """Until SIGTERM or Ctrl-C; 0, or 1 when a child had to be killed."""
        self._bell.install()
        for child in self._children:
            child.start()
        on_ready()
        while not self._bell.wait(LOOK_SECONDS):
            for child in self._children:
                if not child.running:
                    self._restart(child)
        self._say("Stopping. Press Ctrl-C again to hand running jobs back at once.")
        for child in self._children:
            child.signal(signal.SIGTERM)
        return 0 if all([self._end(child) for child in self._children]) else 1

    def _restart(self, child: Child) -> None:
        at = clock.monotonic()
        if child.process is not None:
            if at - child.started_at >= STEADY_SECONDS:
                child.pause = 1.0
            self._say(f"The {child.name} ended with {child.process.returncode}; again in {child.pause:g} s.")
            child.process, child.restart_at = None, at + child.pause
            child.pause = min(child.pause * 2, LONGEST_PAUSE)
        elif at >= child.restart_at:
            child.start()

    def _end(self, child: Child) -> bool:
        """Wait for a child; a second Ctrl-C asks all again (the worker hurries), a third or time kills it."""
        rings, until = 0, clock.monotonic() + child.grace
        while child.running and rings < 2 and clock.monotonic() < until:
            if self._bell.wait(LOOK_SECONDS):
                rings += 1
                for other in self._children:
                    other.signal(signal.SIGTERM)
        if not child.running:
            return True
        self._say(f"The {child.name} did not end; it is killed.")
        child.signal(signal.SIGKILL)
        return False


def web_child(file_number: int) -> Child:
    """uvicorn on the socket that we listen on, so that a restart loses no connection."""
    command = [sys.executable, "-m", "uvicorn", web.APPLICATION, "--fd", str(file_number)]
    command += ["--no-access-log", "--log-level", "warning", "--lifespan", "on"]
    command += ["--ws-max-size", str(web.WS_MAX_BYTES), "--ws-per-message-deflate", "false"]
    return Child("web server", command, grace=KILL_SECONDS, inherited=(file_number,))


def worker_child(concurrency: int) -> Child:
    """A prefork worker; its runs get their own grace to end."""
    command = [sys.executable, "-m", "celery", "-A", "jobsplatform", "--quiet", "worker"]
    command += [
        "--concurrency",
        str(concurrency),
        "--without-mingle",
        "--without-gossip",
        "--without-heartbeat",
    ]
    return Child("worker", command, grace=config.get().tasks.shutdown_grace_seconds + KILL_SECONDS)


def scheduler_child() -> Child:
    """Whoever SCHEDULER__PROVIDER names: Celery's beat, or a process with our own loop or APScheduler."""
    command = [sys.executable, "-m", "django", "scheduler", "--run"]
    if config.get().scheduler.provider == "celery_beat":
        command = [sys.executable, "-m", "celery", "-A", "jobsplatform", "--quiet", "beat"]
        command += ["-S", "scheduler.beat:PlatformScheduler"]
    return Child("scheduler", command, grace=KILL_SECONDS, speaks=False)
