"""Our own loop, in the process that runs it."""

from __future__ import annotations

import structlog

from jobsplatform.kernel.bell import Bell
from jobsplatform.kernel.presence import Presence
from scheduler.providers.base import Chained, OnRound, RunReport, ignore
from scheduler.providers.loop import SchedulerLoop
from scheduler.requests import StepResult

log = structlog.get_logger("jobsplatform.scheduler")

LOOK_SECONDS = 5.0
STOP_SECONDS = 4.0
"""A round that hangs is left behind after so long."""


class LocalScheduleProvider(Chained):
    """``SchedulerLoop`` until the bell rings."""

    name = "local"

    def run(
        self,
        *,
        bell: Bell,
        max_iterations: int | None = None,
        instance_id: str = "",
        on_round: OnRound = ignore,
    ) -> RunReport:
        report = RunReport()

        def count(step: StepResult) -> None:
            report.add(step)
            on_round(step)

        loop = SchedulerLoop(instance=instance_id, on_round=count, rounds=max_iterations, on_end=bell.ring)
        report.instance_id = loop.instance
        self.made(loop)
        presence = Presence("scheduler", works=lambda: not loop.stands)
        presence.start()
        loop.start()
        try:
            while not bell.wait(LOOK_SECONDS):
                if loop.stands:
                    log.critical("scheduler.stands", text="no round has ended for long: this scheduler ends")
                    break
        finally:
            presence.stop(0)
            if not loop.stop(STOP_SECONDS):
                loop.turn.give_back()  # it hangs, and ends with the process
            presence.stop(0.5)
        return report

    def made(self, loop: SchedulerLoop) -> None:
        """The loop of a run is about to start; for those who have more to wake it."""
