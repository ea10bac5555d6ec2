"""A platform of real processes for the conformance pack, and the pack's own run, which sees the bus alone."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
from django.db import connections

import jobsplatform_sdk
from jobsplatform.kernel import clock, tokens
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.models import App
from jobsplatform.web import listen
from jobsplatform_sdk import Client, Sidecar
from jobsplatform_sdk.conformance import scenarios
from tasks import control
from tasks.bus import bindings
from tasks.models import HandlerBinding
from tests.flows.processes import ROOT, Command, Worker, until
from tests.services.guard import Guard

ACTOR = Actor("test", "flow")
PACK_SECONDS = 900
START_SECONDS = 120.0
"""A busy machine starts two processes slowly; how fast is not asked here."""


def free_port() -> int:
    listening, port = listen("127.0.0.1", 0)
    with closing(listening):
        return port


class ConformancePlatform:
    """A web process and a worker that serves the default queue alone; both can be killed and started again."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self.environment = environment
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._commands: list[Command] = []
        self._starts = 0

    def start(self) -> None:
        """Both processes, once they work."""
        self._starts += 1
        web = [sys.executable, "-m", "uvicorn", "jobsplatform.asgi:application", "--port", str(self.port)]
        web += ["--log-level", "warning", "--lifespan", "on"]
        log = self.folder / f"web-{self._starts}.log"
        server = Command(log, {**self.environment, "DJANGO_SETTINGS_MODULE": "jobsplatform.settings"}, web)
        worker = Worker(
            self.folder / f"worker-{self._starts}.log",
            self.environment,
            ["-P", "threads", "-c", "2", "-Q", "default"],
            "jobsplatform",
        )
        self._commands = [server, worker]
        try:
            until(lambda: self._answers(server), START_SECONDS)
            until(lambda: " ready." in worker.output or worker.process.poll() is not None, START_SECONDS)
            assert worker.process.poll() is None, worker.output[-3000:]
        except TimeoutError:
            raise AssertionError(f"the platform does not begin:\n{self.output()}") from None

    def _answers(self, server: Command) -> bool:
        assert server.process.poll() is None, server.output[-3000:]
        try:
            return httpx.get(f"{self.url}/health/live").status_code == 200
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        for command in self._commands:
            command.kill()

    def output(self) -> str:
        """The last words of its processes."""
        return "\n".join(f"-- {command.log.name}\n{command.output[-3000:]}" for command in self._commands)

    def token_file(self, app_id: str) -> Path:
        """A file with a token of this app, which may do all with its jobs."""
        app, _ = App.objects.get_or_create(app_id=app_id)
        scopes = [scope for scope in tokens.SCOPES if scope.startswith("jobs:")]
        made = tokens.mint(app, name="pack", scopes=scopes, expires_at=None, actor=ACTOR, now=clock.now())
        file = self.folder / f"{app_id}.token"
        file.write_text(made[1])
        return file

    def approve(self, app_id: str, url: str) -> None:
        """What an operator does before the platform calls a sidecar: look at the url that it names, and say yes."""
        with Client(self.url, self.token_file(app_id).read_text()) as client:
            sidecar = Sidecar(client, service="conformance", transport="http", url=url)
            scenarios.declare(sidecar.job, jobsplatform_sdk)
            sidecar.register()
        for row in HandlerBinding.objects.filter(app_id=app_id):
            bindings.approve(row.pk, actor=ACTOR, now=clock.now())


@contextmanager
def operator(platform: ConformancePlatform, app_id: str) -> Iterator[str]:
    """The pack's ``--jp-operator``: a command that asks this process to act."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            words = [unquote(word) for word in self.path.strip("/").split("/")]
            try:
                _act(platform, app_id, words)
                self.send_response(200)
            except Exception as error:
                self.send_response(500, f"{type(error).__name__}")
                raise
            finally:
                self.end_headers()
                connections.close_all()

        def log_message(self, format: str, *args: Any) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"{sys.executable} {Path(__file__).with_name('operate.py')} {server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _act(platform: ConformancePlatform, app_id: str, words: Sequence[str]) -> None:
    match words:
        case ["restart"]:
            platform.kill()
            platform.start()
        case ["suspend", job_type]:
            control.suspend("type", f"{app_id}:{job_type}", actor=ACTOR, reason="trial", interrupt=True)
        case ["unsuspend", job_type]:
            control.unsuspend("type", f"{app_id}:{job_type}", actor=ACTOR)
        case _:
            raise ValueError(f"what is {words}?")


def run_pack(
    platform: ConformancePlatform, app_id: str, sidecar: str, transport: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """The pack in a pytest of its own, against this platform."""
    with operator(platform, app_id) as command:
        chosen = [
            f"--jp-url={platform.url}",
            f"--jp-token-file={platform.token_file(app_id)}",
            f"--jp-sidecar={sidecar}",
            f"--jp-operator={command}",
            f"--jp-transport={transport}",
        ]
        words = [sys.executable, "-m", "pytest", "-p", "jobsplatform_sdk.conformance.plugin", *chosen]
        words += [
            "--pyargs",
            "jobsplatform_sdk.conformance.pack",
            "-q",
            "-p",
            "no:cacheprovider",
            "-rs",
            *arguments,
        ]
        pack = subprocess.Popen(
            words,
            cwd=platform.folder,
            env=platform.environment | _alone(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        # A killed pytest takes the pack along, and that its sidecars.
        guard = Guard(pack.pid, platform.folder / "none")
        try:
            said, _ = pack.communicate(timeout=PACK_SECONDS)
        finally:
            pack.kill()
            pack.wait()
            guard.release()
        return pack.returncode, said


def _alone() -> dict[str, str]:
    """Nothing but the package itself is there for the pack; its plugin is named."""
    path = os.pathsep.join((str(ROOT), str(ROOT / "sdk" / "python")))
    return {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
