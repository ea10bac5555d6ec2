"""Says that the sidecar lives, and hears for each of its runs whether it should go on."""

from __future__ import annotations

import logging
from collections.abc import Callable

from jobsplatform_sdk import clock
from jobsplatform_sdk.calls import running
from jobsplatform_sdk.client import Client
from jobsplatform_sdk.errors import BusError
from jobsplatform_sdk.roster import Roster, Service
from jobsplatform_sdk.runs import Run

logger = logging.getLogger("jobsplatform_sdk.sidecar")

DEFAULT_SECONDS = 5.0
DEFAULT_LEASE_SECONDS = 15.0
AGAIN_SECONDS = 1.0
"""After a beat that got no answer; and two beats are never nearer, however often a handler asks."""


class Heartbeats:
    """One thread; the platform says how often it wants to hear."""

    def __init__(self, client: Client, runner_id: str, roster: Roster) -> None:
        self.seconds = DEFAULT_SECONDS
        self.lease_seconds = DEFAULT_LEASE_SECONDS
        self.stopping = False
        self._client = client
        self._runner_id = runner_id
        self._roster = roster
        self._beat_at = float("-inf")
        self._well = True
        self._service = Service("heartbeats", self.step)
        self.start, self.stop = self._service.start, self._service.stop

    def learn(self, seconds: float, lease_seconds: float) -> None:
        """What the platform has told with a claim."""
        sooner = seconds < self.seconds
        self.seconds, self.lease_seconds = seconds, lease_seconds
        if sooner:
            self._service.wake()

    def ask(self, run: Run) -> None:
        """A handler wants to know whether to go on."""
        self._service.wake()

    def step(self) -> float:
        """Beat if it is time; the seconds until the next."""
        since = clock.monotonic() - self._beat_at
        nearest = min(AGAIN_SECONDS, self.seconds)
        if since < nearest:
            return nearest - since
        waiting = any(run.asking for run in self._roster.all())
        if since < self.seconds and self._well and not waiting:
            return self.seconds - since
        self.beat()
        return self.seconds if self._well else nearest

    def beat(self, stopping: Callable[[], bool] | None = None) -> bool:
        """Beat now; was it answered?"""
        runs = {run.key: run for run in self._roster.all() if run.leased and not run.lost}
        self._beat_at = clock.monotonic()
        call = running.heartbeat(self._runner_id, runs, stopping=self.stopping)
        try:
            answer = self._client.send_once(call, timeout=max(1.0, self.lease_seconds / 3))
        except BusError as error:
            if self._well:
                logger.warning("the platform does not answer heartbeats: %s", error)
            self._well = False
            return False
        if not self._well:
            logger.info("the platform answers heartbeats again")
        self._well = True
        for news in answer.runs:
            run = runs.get((news.id, news.lease))
            if run is not None and news.held:
                run.hear(news.cancel)
            elif run is not None:
                run.lose()
        return True
