"""A process that runs jobs of its app: handlers, and what brings jobs to them."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import uuid
from collections.abc import Callable
from typing import Any, Literal, ParamSpec, TypeVar, Unpack

from jobsplatform_sdk import clock, endings
from jobsplatform_sdk.claiming import Claims
from jobsplatform_sdk.client import Client
from jobsplatform_sdk.crew import Crew
from jobsplatform_sdk.errors import BusError, Refused
from jobsplatform_sdk.handlers import Handler, JobOptions
from jobsplatform_sdk.heartbeats import Heartbeats
from jobsplatform_sdk.reporting import Reporter
from jobsplatform_sdk.roster import Roster
from jobsplatform_sdk.run_shapes import Assignment
from jobsplatform_sdk.running_jobs import perform_and_tell, tell
from jobsplatform_sdk.runs import Run

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger("jobsplatform_sdk.sidecar")

LOOK_SECONDS = 0.1
ASK_SHARE = 0.7
"""Share of the grace after which the runs that still work are asked to stop."""

FAREWELL_SECONDS = 2.0


class Sidecar:
    """Runs jobs of the client's app.

    ``concurrency``: runs at once, each in a thread. ``service``: names this kind of process among those of the app.
    ``wait_seconds``: how long one claim waits for a job. ``grace_seconds``: how long runs may go on after SIGTERM.
    ``keep_seconds``: how long a job that was brought, not claimed, is still waited for when this process has died.
    ``register``: tell the platform of the handlers at the start (needs the scope ``jobs:run``, like the rest).
    """

    def __init__(
        self,
        client: Client,
        *,
        concurrency: int = 4,
        service: str = "sidecar",
        name: str = "",
        version: str = "",
        wait_seconds: float = 20.0,
        grace_seconds: float = 25.0,
        register: bool = True,
        transport: Literal["claim", "http", "celery"] = "claim",
        url: str | None = None,
        keep_seconds: float = 60.0,
    ) -> None:
        """Raises ValueError for numbers that make no sense, and for the call-back transport without its ``url``."""
        if concurrency < 1:
            raise ValueError(f"concurrency: expected 1 or more, got {concurrency!r}.")
        if not 0 <= wait_seconds <= 30:
            raise ValueError(f"wait_seconds: expected 0 to 30, got {wait_seconds!r}.")
        if (transport == "http") != (url is not None):
            raise ValueError("url: the transport 'http' needs it, and no other does.")
        self.client = client
        self.service = service
        self.transport = transport
        self.url = url
        self.name = name or f"{socket.gethostname()}:{os.getpid()}"
        self.runner_id = str(uuid.uuid4())
        self.handlers: dict[str, Handler[Any, Any]] = {}
        self.secrets: set[str] = set()
        self.app_id = ""
        self._version = version
        self._wait_seconds = wait_seconds
        self._grace_seconds = grace_seconds
        self._register = register
        self.keep_seconds = keep_seconds
        self._hurry = False
        self._signals = 0
        self._pid = os.getpid()
        self._claims: Claims | None = None
        self.roster = Roster()
        self.reporter = Reporter(self.roster, self.handlers)
        self.heartbeats = Heartbeats(client, self.runner_id, self.roster)
        self.crew = Crew(concurrency, self.roster, self._work)

    # -- declaring ----------------------------------------------------------------------------------------

    def job(self, job_type: str, **options: Unpack[JobOptions]) -> Callable[[Callable[P, R]], Handler[P, R]]:
        """Declare a job type: ``@sidecar.job("tv_scrape") def tv_scrape(ctx, show: int) -> dict: …``.

        The signature says which params there are; the platform checks them when a job is made. Options are those of
        handlers inside the platform. Raises ValueError for a type that is declared twice.
        """

        def decorate(function: Callable[P, R]) -> Handler[P, R]:
            if job_type in self.handlers:
                raise ValueError(
                    f"The job type {job_type!r} is declared already: {self.handlers[job_type]!r}."
                )
            handler = Handler(job_type, function, options)
            self.handlers[job_type] = handler
            return handler

        return decorate

    def register(self) -> None:
        """Tell the platform of every handler. Raises BusError."""
        for handler in self.handlers.values():
            spec: dict[str, Any] = {**handler.options, "continuation": handler.has_continuation}
            bound = self.client.jobs.register_handler(
                handler.job_type, service=self.service, transport=self.transport, url=self.url, spec=spec
            )
            self.app_id = str(bound.handler.get("app_id") or "")
            if bound.signing_secret:
                self.secrets.add(bound.signing_secret)

    # -- living -------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Register, and begin to run jobs in threads of their own. Raises BusError for what cannot be registered."""
        if not self.handlers:
            raise ValueError("This sidecar has no handlers; declare one with @sidecar.job(…).")
        if self._register:
            self.register()
        self.crew.start()
        self.reporter.start()
        if self.transport == "claim":
            self._claims = Claims(
                self.client,
                self.runner_id,
                list(self.handlers),
                crew=self.crew,
                heartbeats=self.heartbeats,
                make_run=self.make_run,
                wait_seconds=self._wait_seconds,
                name=self.name,
                version=self._version,
            )
            self._claims.start()
            self.heartbeats.start()
        logger.info("sidecar %s started: %s", self.name, ", ".join(sorted(self.handlers)))

    def stop(self, grace_seconds: float | None = None) -> None:
        """Take nothing new, let runs finish, ask the rest to stop, hand back the rest."""
        began = clock.monotonic()
        grace = self._grace_seconds if grace_seconds is None else grace_seconds

        def left(share: float = 1.0) -> float:
            return 0.0 if self._hurry else began + grace * share - clock.monotonic()

        self.heartbeats.stopping = True
        if self._claims is not None:
            self._claims.stop()
            self.heartbeats.beat()
        for run in self.crew.take_back():
            self._hand_back(run)
        self._wait_for_runs(left, ASK_SHARE)
        for run in self.roster.all():
            run.ask_to_stop("shutdown")
        self._wait_for_runs(left, 1.0)
        for run in self.roster.all():
            self._hand_back(run)
        self.crew.stop()
        self.reporter.stop(FAREWELL_SECONDS)
        if self._claims is not None:
            self._claims.join(max(left(), FAREWELL_SECONDS))
            self.heartbeats.stop(FAREWELL_SECONDS)
            self.heartbeats.beat()
        logger.info("sidecar %s stopped", self.name)

    def run(self) -> None:
        """Run jobs until SIGTERM or Ctrl-C, then drain; a second signal shortens the drain. In the main thread.

        Raises BusError when the platform refuses this sidecar for good (token revoked, scope missing).
        """
        before = {
            number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            self.start()
            while not self._signals and self.fatal is None:
                clock.sleep(LOOK_SECONDS)
            self.stop()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if self.fatal is not None:
            raise self.fatal

    def main(self) -> None:
        """``run`` as a program: logs to stderr, exit code 0 after a drain, 1 when the platform refuses, 3 when it
        cannot be reached."""
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
        logging.getLogger("httpx").setLevel(logging.WARNING)  # one line an exchange otherwise
        try:
            self.run()
        except BusError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(1 if isinstance(error, Refused) else 3)
        sys.exit(0)

    @property
    def stopping(self) -> bool:
        """It takes no more jobs."""
        return self.heartbeats.stopping

    @property
    def fatal(self) -> BusError | None:
        """Why no more jobs will come, or None."""
        return self._claims.fatal if self._claims is not None else None

    def make_run(self, assignment: Assignment, *, leased: bool = True) -> Run:
        """The run of an assignment, not begun yet."""

        def wake(run: Run) -> None:
            if run.unwritten() is not None or not run.leased:
                self.reporter.wake()
            else:
                self.heartbeats.ask(run)

        return Run(
            assignment,
            self.client,
            lease_seconds=self.heartbeats.lease_seconds,
            leased=leased,
            wake=wake,
        )

    def run_here(self, assignment: Assignment) -> bool:
        """Do a run in this thread, to its told end: for pools that are not this sidecar's own, also in a forked child.

        False: it is here already.
        """
        if self._pid != os.getpid():
            self._begin_after_fork()
        run = self.make_run(assignment, leased=False)
        if not self.roster.add(run):
            return False
        run.keep_for(self.keep_seconds)
        try:
            self._work(run)
        finally:
            self.roster.remove(run)
        return True

    def _begin_after_fork(self) -> None:
        """No thread of the parent is here."""
        self._pid = os.getpid()
        self.roster = Roster()
        self.reporter = Reporter(self.roster, self.handlers)
        self.reporter.start()

    # -- inside -------------------------------------------------------------------------------------------

    def _work(self, run: Run) -> None:
        perform_and_tell(self.handlers, run, lambda: self._hurry)

    def _wait_for_runs(self, left: Callable[[float], float], share: float) -> None:
        while left(share) > 0 and not self.roster.wait_empty(min(LOOK_SECONDS, left(share))):
            if self._signals > 1:
                self._hurry = True

    def _hand_back(self, run: Run) -> None:
        tell(run, endings.interrupted("shutdown"), hurry=lambda: True)
        run.lose()
        self.roster.remove(run)

    def _on_signal(self, number: int, frame: Any) -> None:
        self._signals += 1  # and nothing else: it may have interrupted anything
