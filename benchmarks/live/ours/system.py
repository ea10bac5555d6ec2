"""JobsPlatform with one web process, and workers where a scenario wants them."""

from __future__ import annotations

import socket

from benchmarks.systems.base import Place, python
from benchmarks.systems.ours.system import Ours

PORT = "BENCH_PORT"
SETTINGS = {
    "ALLOWED_HOSTS": "127.0.0.1",
    # As a quota that is not to be met; the checking of it is part of what is measured.
    "BUS__CREATES_PER_MINUTE": "1000000000",
    "APPS": "benchmarks.systems.ours,benchmarks.live.reporters",
}


class OurWeb(Ours):
    """``uvicorn jobsplatform.asgi:application``, and with ``storm`` jobs that can report: a worker of threads, too."""

    client = "benchmarks.live.ours.client"

    def __init__(self, name: str = "ours", *, drains: bool = False, threads: int = 0) -> None:
        super().__init__(name, SETTINGS)
        self._port = 0
        self._drains, self._threads = drains, threads
        self.settings = "one uvicorn process, profile private, defaults (logs, events and checks on)"
        if drains:
            self.settings += "; a worker prefork -c 2"
        if threads:
            self.settings += f"; a worker of {threads} threads, for jobs that report"

    def environment(self, place: Place) -> dict[str, str]:
        if not self._port:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self._port = int(probe.getsockname()[1])
        return {**super().environment(place), PORT: str(self._port)}

    def workers(self) -> list[list[str]]:
        web = python("uvicorn", "jobsplatform.asgi:application", "--port", str(self._port))
        web += ["--no-access-log", "--log-level", "warning", "--ws-per-message-deflate", "false"]
        found = [web]
        celery = ("celery", "-A", "jobsplatform", "--quiet", "worker")
        if self._drains:
            found.append(python(*celery, "-c", "2", "-n", "drain@%h"))
        if self._threads:
            slots = str(self._threads)
            found.append(python(*celery, "-P", "threads", "-c", slots, "-Q", "storm", "-n", "storm@%h"))
        return found
