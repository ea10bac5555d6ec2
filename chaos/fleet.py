"""The worker and web processes of the platform under fire."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import psutil

from chaos import ledger
from chaos.platform import Servers
from tests.flows.processes import Command, Worker, until

ENTRY = "CHAOS_ENTRY"
"""Environment variable of a worker: what ``chaos.entry`` changes in it before it starts."""

WEB_SECONDS = 0.5

STEADY = "steady"
"""A worker that no fault strikes, with a queue of its own that has its name: a soak looks how large it is."""

ODD = "odd"
"""A queue of its own, for workers that see the world wrongly."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How a worker is started. ``proxied``: it reaches its servers through the proxies. ``entry``: what
    ``chaos.entry`` changes in it. ``watchdog``: seconds of its watchdog, real ones; the default is longer than the
    broker's client takes to notice a dead connection by itself, which nothing shortens."""

    slots: int = 4
    proxied: bool = False
    entry: str = ""
    queue: str = "default"
    watchdog: float | None = None


KINDS = {
    "a": Kind(proxied=True),
    "b": Kind(),
    "big": Kind(slots=20),
    "deaf": Kind(proxied=True, watchdog=5, entry="timeout=2"),
    STEADY: Kind(queue=STEADY),
    "fast": Kind(slots=2, entry="five again clock=600", queue=ODD),
    "slow": Kind(slots=2, entry="five again clock=-600", queue=ODD),
}
"""``fast`` and ``slow``: every message five times, and back again after a second; clocks ten minutes wrong."""


class Fleet:
    """Workers by name, and one web process; the workers end with the fleet. ``everywhere``: what ``chaos.entry``
    changes in every worker. ``always``: workers that run whatever a fault needs."""

    def __init__(self, servers: Servers, web: Web, everywhere: str = "", always: Iterable[str] = ()) -> None:
        self.always = frozenset(always)
        self._servers = servers
        self._everywhere = everywhere
        self._count = 0
        self.workers: dict[str, Worker] = {}
        self.web = web

    def launch(self, name: str) -> Worker:
        """Start a worker and do not wait for it."""
        kind = KINDS[name]
        self._count += 1
        entry = " ".join([kind.entry, self._everywhere]).strip()
        environment = {**self._servers.environment(proxied=kind.proxied), ENTRY: entry}
        if kind.watchdog is not None:
            # A worker wants at least two polls of it.
            seconds = max(kind.watchdog, 2 * self._servers.scale.poll)
            environment["TASKS__WATCHDOG_SECONDS"] = f"{seconds:g}"
        log = self._servers.folder / f"{self._everywhere}{self._count:02}-{name}.log"
        words = ("-c", str(kind.slots), "-n", f"{name}@chaos", "-Q", kind.queue)
        worker = Worker(log, environment, words, "chaos.entry" if entry else "jobsplatform")
        self.workers[name] = worker
        return worker

    def start(self, name: str) -> Worker:
        """Start a worker and wait until it takes jobs."""
        worker = self.launch(name)
        worker.wait_ready()
        return worker

    def ended(self) -> list[str]:
        """Which workers have ended by themselves, and what they said of it."""
        found = []
        for name, worker in self.workers.items():
            if (code := worker.process.poll()) is not None:
                said = [str(line["text"]) for line in worker.events("worker.exits")] or [worker.output[-300:]]
                found.append(f"worker {name} has ended with {code}: {said[-1]}")
        return found

    def muster(self, names: Iterable[str]) -> None:
        """Let exactly these workers run, and be ready. One that has ended is started anew."""
        wanted = set(names) | self.always
        for name in [name for name, worker in self.workers.items() if worker.process.poll() is not None]:
            self.kill(name)
        launched = [self.launch(name) for name in sorted(wanted - self.workers.keys())]
        self.leave(sorted(self.workers.keys() - wanted))
        for worker in launched:
            worker.wait_ready()

    def kill(self, name: str) -> None:
        """End a worker and its children at once."""
        self.workers.pop(name).kill()

    def leave(self, names: Iterable[str]) -> list[int]:
        """Ask workers to end, all together; their exit codes."""
        leaving = [self.workers.pop(name) for name in names]
        for worker in leaving:
            worker.send(signal.SIGTERM)
        codes = [worker.exit_code(self._servers.scale.patience) for worker in leaving]
        for worker in leaving:
            worker.kill()
        return codes

    def close(self) -> None:
        for name in list(self.workers):
            self.kill(name)


class Web:
    """The web process, asked all the time whether it lives."""

    def __init__(self, servers: Servers) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = int(probe.getsockname()[1])
        command = [
            sys.executable,
            "-m",
            "uvicorn",
            "jobsplatform.asgi:application",
            "--port",
            str(self._port),
        ]
        self._process = Command(servers.folder / "web.log", servers.environment(), command)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="web watch", daemon=True)
        self.silent: list[str] = []
        """Every time that it did not say that it lives, and why."""

    def wait_ready(self) -> None:
        """Until it answers; from then on it is watched."""
        if not self._thread.is_alive():
            until(lambda: self._get("/health/live")[0] == 200)
            self._thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _watch(self) -> None:
        while not self._stopping.wait(WEB_SECONDS):
            status, text = self._get("/health/live")
            if status != 200:
                self.silent.append(f"/health/live: {status} {text[:80]}")

    def metrics(self) -> str:
        """The page of numbers. Raises TimeoutError when it does not come."""
        return until(
            lambda: text if (answer := self._get("/metrics"))[0] == 200 and (text := answer[1]) else ""
        )

    def rejects(self) -> int:
        """Late writes that were refused so far, as the page counts them."""
        name = "jobsplatform_stale_lease_rejects_total"
        return int(
            sum(
                float(line.rpartition(" ")[2])
                for line in self.metrics().splitlines()
                if line.startswith(name)
            )
        )

    def ready(self) -> int:
        """The status of the readiness page; 0 when it does not answer within 10 seconds."""
        return self._get("/health/ready")[0]

    def _get(self, path: str, seconds: float = 10) -> tuple[int, str]:
        try:
            with urlopen(f"http://127.0.0.1:{self._port}{path}", timeout=seconds) as answer:
                return int(answer.status), answer.read().decode()
        except HTTPError as error:
            return error.code, ""
        except (URLError, OSError) as error:
            return 0, str(error)

    def close(self) -> None:
        self._stopping.set()
        self._process.kill()


def freeze(pids: Iterable[int]) -> None:
    """Stop processes as they are, and note it."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
        ledger.append("frozen", "-", 0, 0, pid)


def thaw(pids: Iterable[int]) -> None:
    """Let them go on."""
    for pid in pids:
        ledger.append("thawed", "-", 0, 0, pid)
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass  # it was killed meanwhile


def family(worker: Worker) -> list[int]:
    """A worker's process and its children's."""
    return [worker.pid, *(child.pid for child in psutil.Process(worker.pid).children(recursive=True))]
