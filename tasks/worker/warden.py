"""The thread that looks after this worker's runs: it writes the ends of those whose process died, ends those
that are overdue, and finds those that nobody works on any more."""

from __future__ import annotations

from uuid import UUID

import structlog

from jobsplatform.kernel import clock
from jobsplatform.kernel.loop import Loop
from tasks import finish
from tasks.models import Job
from tasks.states import IN_FLIGHT, State
from tasks.worker import inflight
from tasks.worker.incarnation import Incarnation
from tasks.worker.inflight import RunKey
from tasks.worker.kills import Killer
from tasks.worker.losses import How, Loss, Losses

log = structlog.get_logger("jobsplatform.worker")

LOOK_SECONDS = 1.0
DESERTED_LOOKS = 5
"""A running row that no pool slot works on for so many looks in a row has been deserted."""


class Warden(Loop):
    """Looks each second, and at once when a process died. What it could not write it writes later."""

    name = "warden"

    def __init__(self, incarnation: Incarnation, losses: Losses, killer: Killer) -> None:
        super().__init__()
        self._incarnation = incarnation
        self._losses = losses
        self._killer = killer
        self._deserted: dict[RunKey, int] = {}
        self._looked_at = 0.0

    def start(self) -> None:
        self._losses.listen(self.wake)
        super().start()

    def wait_seconds(self) -> float:
        return LOOK_SECONDS

    def step(self) -> bool:
        self.write_losses()
        at = clock.monotonic()
        if at - self._looked_at >= LOOK_SECONDS * 0.9:
            self._looked_at = at
            process_id = self._incarnation.id
            self._killer.end_overdue(process_id, clock.now())
            self._find_deserted(process_id)
        return False

    def write_losses(self) -> int:
        """Write what the hooks told; what cannot be written now stays."""
        written = 0
        while (loss := self._losses.first()) is not None:
            write(loss)
            self._losses.done(loss)
            written += 1
        return written

    def _find_deserted(self, process_id: UUID) -> None:
        rows = Job.objects.filter(worker_id=process_id, state=State.RUNNING)
        keys = {inflight.key_of(*row) for row in rows.values_list("id", "lease", "pack")}
        working = inflight.active()
        before = self._deserted
        self._deserted = {key: before.get(key, 0) + 1 for key in keys if key not in working}
        for key, looks in list(self._deserted.items()):
            if looks >= DESERTED_LOOKS:
                del self._deserted[key]
                write(Loss(key, How.UNCLEAR, "its run ended without being written down"))


def write(loss: Loss) -> None:
    """Write the end of a run that nobody else will write; nothing when its lease has passed on."""
    (job_id, lease), now = loss.key, clock.now()
    if lease == 0:
        finish.lost_pack(job_id, loss.reason, now)
    elif loss.how is How.TIMED_OUT:
        finish.timed_out(job_id, lease, now, loss.reason)
    elif Job.objects.filter(id=job_id, lease=lease, state__in=sorted(IN_FLIGHT)).exists():
        # What cannot be pinned on the job counts against the larger budget.
        finish.lost(job_id, lease, whole_worker=loss.how is How.UNCLEAR, reason=loss.reason, now=now)
