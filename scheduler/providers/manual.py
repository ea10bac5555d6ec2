"""By hand: one slot, or one round, when somebody asks. The innermost link of every provider."""

from __future__ import annotations

from jobsplatform.kernel import clock
from jobsplatform.kernel.bell import Bell
from scheduler import planner, trigger
from scheduler.providers.base import OnRound, RunReport, ignore
from scheduler.providers.loop import instance_name
from scheduler.requests import ScheduleTriggerRequest, ScheduleTriggerResult


class ManualScheduleProvider:
    """Triggers what it is told, and plans a round for each call. Nothing runs by itself."""

    name = "manual"

    def trigger(self, request: ScheduleTriggerRequest) -> ScheduleTriggerResult:
        """Decide the slot of ``request``, or run its schedule now. Raises ScheduleNotFound,
        ScheduleTriggerConflict."""
        clock.current().sync()
        return trigger.trigger(request, clock.now())

    def run(
        self,
        *,
        bell: Bell,
        max_iterations: int | None = None,
        instance_id: str = "",
        on_round: OnRound = ignore,
    ) -> RunReport:
        """Rounds until nothing is due, the bell rings, or there were so many."""
        report = RunReport(instance_id=instance_name(instance_id))
        while not bell.wait(0) and (max_iterations is None or report.iterations < max_iterations):
            clock.current().sync()
            step = planner.step(clock.now(), instance=report.instance_id)
            report.add(step)
            on_round(step)
            if not step.more and max_iterations is None:
                break
        return report
