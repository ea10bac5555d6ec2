"""``manage.py runplatform``: everything that JobsPlatform needs, with one command."""

from __future__ import annotations

import os
import socket
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandParser

from jobsplatform import embedded, first_admin, supervisor, web
from jobsplatform.kernel import config
from jobsplatform.kernel.errors import InvalidInput
from tasks.cli.base import PlatformCommand

CANNOT_KILL = (
    "Local mode: jobs run in threads of this process. A handler that ignores its time limit or its cancel "
    "cannot be killed; it is given up and its thread stays busy. Set REDIS_URL for worker processes."
)


class Command(PlatformCommand):
    """Web, worker and database, until Ctrl-C."""

    help = (
        "Run the web server, a worker and a scheduler. Migrates first and makes the user 'admin'. Without "
        "REDIS_URL all is one process; with it they are processes of their own, which are watched and restarted."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--host", default="127.0.0.1", help="address to listen on (default: this machine only)"
        )
        parser.add_argument(
            "--port", type=int, default=8000, help="port; a taken one is passed over (default: 8000)"
        )
        parser.add_argument("--concurrency", type=int, help="jobs at once (default: TASKS__CONCURRENCY)")
        parser.add_argument("--no-web", action="store_true", help="run no web server")
        parser.add_argument("--no-worker", action="store_true", help="run no worker")
        parser.add_argument(
            "--no-scheduler",
            action="store_true",
            help="run no scheduler; a worker still plans what is overdue by SCHEDULER__SWEEP_AFTER_SECONDS",
        )

    def act(self, options: dict[str, Any]) -> int:
        if options["no_web"] and options["no_worker"] and options["no_scheduler"]:
            raise InvalidInput("--no-web, --no-worker and --no-scheduler leave nothing to run.")
        if not 0 <= options["port"] <= 65535:
            raise InvalidInput(f"--port: expected 0 to 65535, got {options['port']}.")
        concurrency = (
            options["concurrency"] if options["concurrency"] is not None else config.get().tasks.concurrency
        )
        if concurrency < 1:
            raise InvalidInput(f"--concurrency: expected 1 or more, got {concurrency}.")
        self.check()
        listening, port = (None, 0) if options["no_web"] else self._listen(options["host"], options["port"])
        call_command("migrate", verbosity=0, interactive=False)
        self._tell_admin()
        place = web.address(options["host"], port) if listening is not None else ""
        slots, scheduler = 0 if options["no_worker"] else concurrency, not options["no_scheduler"]
        if config.get().redis_url:
            return self._supervise(listening, place, slots, scheduler)
        return self._in_one_process(listening, place, slots, scheduler)

    def _listen(self, host: str, port: int) -> tuple[socket.socket, int]:
        listening, found = web.listen(host, port)
        if port and found != port:
            self._say(f"Port {port} is taken; using {found}.")
        return listening, found

    def _tell_admin(self) -> None:
        admin = first_admin.ensure(config.get().data_dir)
        if admin.password is not None:
            self._say(f"Admin user: {admin.name}, password: {admin.password} (kept in {admin.file})")
        elif admin.file is not None:
            self._say(f"Admin user: {admin.name}, password in {admin.file} unless it was changed since")

    def _in_one_process(
        self, listening: socket.socket | None, place: str, concurrency: int, scheduler: bool
    ) -> int:
        if concurrency:
            self._say(CANNOT_KILL)
        thread = embedded.WorkerThread(concurrency) if concurrency else None
        clockwork = embedded.SchedulerThread() if scheduler else None
        platform = embedded.Platform(listening, thread, self._say, clockwork)
        return platform.run(lambda: self._ready(place))

    def _supervise(
        self, listening: socket.socket | None, place: str, concurrency: int, scheduler: bool
    ) -> int:
        children = []
        if listening is not None:
            children.append(supervisor.web_child(listening.fileno()))
        if concurrency:
            children.append(supervisor.worker_child(concurrency))
        if scheduler:
            children.append(supervisor.scheduler_child())
        return supervisor.Supervisor(children, self._say).run(lambda: self._ready(place))

    def _ready(self, place: str) -> None:
        self._say(f"JobsPlatform runs{f' at {place}admin/' if place else ''} (Ctrl-C stops it)")

    def _say(self, line: str) -> None:
        # Written whole and at once: the worker's thread writes log lines meanwhile.
        self.stdout.write(f"{line}{os.linesep}", ending="")
        self.stdout.flush()
