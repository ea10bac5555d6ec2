"""Jobs that kill their process."""

from __future__ import annotations

from uuid import UUID

from chaos.faults.base import Fault
from chaos.scene import Scene
from tasks import pace
from tasks.models import Job, JobAttempt
from tasks.states import Cause, State

CRASH_BUDGET = 3


def poison(scene: Scene) -> None:
    """One by itself, ten behind it."""
    with scene.flow():
        deadly = scene.accepted.one("poison")
        behind = scene.accepted.many(10, "polite", seconds=0.02)
        scene.until(lambda: scene.job(deadly).finished_at, "the deadly job ends")
    scene.settle()
    _failed_as_crashed(scene, deadly)
    states = [scene.job(job_id).state for job_id in behind]
    scene.require(states == [State.COMPLETED] * 10, f"the ten behind it: {states}")
    scene.tell(f"failed after {scene.job(deadly).crashes} crashes")


def _failed_as_crashed(scene: Scene, job_id: object) -> None:
    job = Job.objects.get(id=job_id)
    told = (job.state, job.cause)
    scene.require(told == (State.FAILED, Cause.CRASHED), f"the deadly job ended as {told}")
    scene.require(
        job.crashes <= CRASH_BUDGET, f"it crashed {job.crashes} times, its budget is {CRASH_BUDGET}"
    )


def poisoned_pack(scene: Scene) -> None:
    """One in a pack: its neighbours are not charged."""
    warm: list[UUID] = []

    def known() -> bool:
        # What a type's pace is, is written about once a second, by those who have run it.
        warm.extend(scene.accepted.many(16, "packed_poison"))
        scene.rest(3)
        pace.forget()
        return pace.of(":chaos.packed_poison").is_short

    scene.until(known, "the type is known to be short")
    requests = [scene.accepted.request("packed_poison", {"deadly": n == 150}) for n in range(300)]
    jobs = scene.accepted.submit(requests)
    deadly = jobs[150]
    with scene.flow():
        scene.until(lambda: scene.job(deadly).finished_at, "the deadly job ends")
    scene.settle()
    _failed_as_crashed(scene, deadly)
    neighbours = Job.objects.filter(id__in=[*warm, *jobs]).exclude(id=deadly)
    charged = neighbours.exclude(state=State.COMPLETED, crashes=0, losses=0, failures=0).count()
    scene.require(charged == 0, f"{charged} neighbours were charged or did not complete")
    died = JobAttempt.objects.filter(job__in=jobs, reason__contains="pack died").count()
    scene.require(died > 0, "no pack died: the fault did not strike")
    scene.tell(f"{died} runs of its pack returned uncharged")


FAULTS = (
    Fault("poison", "a job that kills its process: crash budget, then failed as crashed; others run", poison),
    Fault("poisoned-pack", "one such job in a pack: its neighbours are not charged", poisoned_pack),
)
