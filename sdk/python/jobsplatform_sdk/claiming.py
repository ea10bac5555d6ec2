"""Fetches jobs from the platform: the default way for jobs to come to a sidecar. No port is open."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from jobsplatform_sdk import clock, endings
from jobsplatform_sdk.calls import running
from jobsplatform_sdk.client import Client
from jobsplatform_sdk.crew import Crew
from jobsplatform_sdk.errors import AppDisabled, BusError, Refused
from jobsplatform_sdk.heartbeats import Heartbeats
from jobsplatform_sdk.retrying import Attempts
from jobsplatform_sdk.run_shapes import Assignment
from jobsplatform_sdk.running_jobs import tell
from jobsplatform_sdk.runs import Run

logger = logging.getLogger("jobsplatform_sdk.sidecar")

FREE_SECONDS = 1.0
DISABLED_SECONDS = 10.0


class Claims:
    """One thread with one claim open at a time, for as many jobs as there are free threads."""

    def __init__(
        self,
        client: Client,
        runner_id: str,
        job_types: Sequence[str],
        *,
        crew: Crew,
        heartbeats: Heartbeats,
        make_run: Callable[[Assignment], Run],
        wait_seconds: float,
        name: str,
        version: str,
    ) -> None:
        self._client = client
        self._runner_id = runner_id
        self._job_types = list(job_types)
        self._crew = crew
        self._heartbeats = heartbeats
        self._make_run = make_run
        self._wait_seconds = wait_seconds
        self._name = name
        self._version = version
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="jobsplatform-claims", daemon=True)
        self.fatal: BusError | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Take nothing new; what an open claim still brings is handed back."""
        self._stopping.set()

    def join(self, seconds: float) -> None:
        self._thread.join(max(0.0, seconds))

    def _loop(self) -> None:
        attempts = self._attempts()
        while not self._stopping.is_set():
            free = self._crew.wait_free(FREE_SECONDS)
            if not free:
                continue
            try:
                self._claim(free)
                attempts = self._attempts()
            except AppDisabled as error:
                logger.warning("%s; asking again in %g s", error, DISABLED_SECONDS)
                self._stopping.wait(DISABLED_SECONDS)
            except Refused as error:
                self.fatal = error
                return
            except BusError as error:
                if attempts.count == 0:
                    logger.warning("no jobs can be fetched now: %s; trying on", error)
                pause = attempts.pause_after(error, clock.monotonic())
                self._stopping.wait(FREE_SECONDS if pause is None else pause)
            except Exception:
                # A fault of ours must not leave a sidecar that lives and does nothing.
                logger.exception("fetching jobs has failed; it goes on in a second")
                self._stopping.wait(FREE_SECONDS)

    def _claim(self, free: int) -> None:
        call = running.claim(
            self._runner_id,
            self._job_types,
            limit=free,
            capacity=self._crew.size,
            wait_seconds=self._wait_seconds,
            name=self._name,
            version=self._version,
        )
        claimed = self._client.send_once(call)
        self._heartbeats.learn(claimed.heartbeat_seconds, claimed.lease_seconds)
        for assignment in claimed.jobs:
            run = self._make_run(assignment)
            if self._stopping.is_set():
                tell(run, endings.interrupted("shutdown"), hurry=lambda: True)
            else:
                self._crew.take(run)

    @staticmethod
    def _attempts() -> Attempts:
        # A claim whose answer was lost is safe to repeat: the platform takes back what nobody names.
        return Attempts(True, float("inf"), clock.monotonic())
