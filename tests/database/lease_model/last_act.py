"""How each example ends: the old workers are gone, their jobs run anew, their ghosts try once more, all is ended."""

from __future__ import annotations

from typing import Any

from jobsplatform.kernel import clock, config
from jobsplatform.testing.platform import ACTOR
from tasks import control, finish, rescue
from tasks.models import Job
from tasks.states import FINAL, IN_FLIGHT, State
from tests.database.lease_model import laws
from tests.database.lease_model.world import ENDINGS, QUEUES, everything


class LastAct:
    """What a machine does when its example is over."""

    def last_act(self: Any) -> None:
        """Nobody stands in the way any more: every job must end."""
        self._lift()
        new = [self.platform.add_worker(6, [queue]) for queue in QUEUES]
        self.silent.update(w for w in self.platform.workers if w not in new)
        self._pass_time()
        self._overlap(*new)
        self._begin_all(new)
        self._haunted()
        for _ in range(12):
            self._finish_all()
            self._pass_time()
            while any([self._dispatch(worker) for worker in new]):
                self._begin_all(new)
                self._finish_all()
            if not (left := Job.objects.exclude(state__in=sorted(FINAL))).exists():
                laws.one_attempt_a_run(self.runs, everything())
                return
        stuck = [f"{j.handler_key} {j.state} {j.hold} {j.role} {j.reason!r}" for j in left]
        raise AssertionError(f"jobs that never end: {stuck}")

    def _pass_time(self: Any) -> None:
        """Long enough for every backoff and lease; whoever speaks beats."""
        self.platform.clock.advance(4000)
        for worker in self._speaking():
            worker.beat()
        rescue.rescue_dead(clock.now(), config.get().tasks.lease_seconds)
        dead = [worker.id for worker in self.silent]
        assert not Job.objects.filter(worker_id__in=dead, state__in=sorted(IN_FLIGHT)).exists()
        self.platform.sweep()
        for job in Job.objects.filter(state=State.PAUSED):
            control.resume(job.id, actor=ACTOR)
        self._look()

    def _begin_all(self: Any, workers: list[Any]) -> None:
        self._look()
        for message, worker in self.messages:
            if worker in workers and message not in self.runs:
                self._begin(message, worker)
        self._look()

    def _haunted(self: Any) -> None:
        """Jobs run under new leases; old runs write, old messages come again, time passes, one is cancelled."""
        again = {run.job_id for run in self.runs if run.held()}
        ghosts = [run for run in self.runs if run.job_id in again and not run.held()]
        for ghost in ghosts[-2:]:
            laws.haunts(ghost)
        for message, worker in self.messages[-3:]:
            self._begin(message, worker)
        self._silence_and_rescue_nobody()
        if (running := Job.objects.filter(state=State.RUNNING).order_by("id").first()) is not None:
            control.cancel(running.id, actor=ACTOR)
        self._look()

    def _silence_and_rescue_nobody(self: Any) -> None:
        self._advance(2)
        self._rescue(0)

    def _finish_all(self: Any) -> None:
        for run in [run for run in self.runs if run.held()]:
            assert finish.finish(run.job_id, run.lease, ENDINGS["completed 0"], clock.now()) is not None
        self._look()
