"""Do the rows and the file say the same, and did the platform keep its word? Every broken promise is one line."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from uuid import UUID

from chaos.flow import Accepted
from chaos.ledger import Ledger, Line, Run
from chaos.scale import Scale
from jobsplatform.kernel import clock
from tasks.models import Job, JobAttempt
from tasks.states import FINAL, Cause, State

ENDS = ("complete", "fail", "crash", "stop")
"""Moves that end a job for good."""

CLOCK_SECONDS = 0.5
"""How far a process may be off the database's clock on a machine that is busy."""

EARLY_SECONDS = 0.02
"""How far two clocks of one machine may be read apart."""


class Agreement:
    """Compares the jobs of one fault with the file."""

    def __init__(self, accepted: Accepted, ledger: Ledger, scale: Scale, crash_budget: int = 3) -> None:
        self._accepted, self._scale, self._budget = accepted, scale, crash_budget
        self.rows = {job.id: job for job in Job.objects.filter(user_id=accepted.tag)}
        self.runs = ledger.runs({str(job_id) for job_id in self.rows})
        self._frozen = list(ledger.frozen())
        clock.current().sync()
        self._offset = clock.now().timestamp() - time.monotonic()

    def problems(self) -> list[str]:
        """What does not hold; at most some of each kind."""
        found = [f"accepted job {job} has no row" for job in self._accepted.jobs - self.rows.keys()]
        for check in (
            self._ends,
            self._attempts,
            self._runs,
            self._times,
            self._families,
            self._steps,
            self._alone,
        ):
            found += list(check())[:3]
        return found

    def _of(self, job: Job) -> list[Run]:
        return self.runs.get(str(job.id), [])

    # -- one end, and the right one ----------------------------------------------------------------------

    def _ends(self) -> Iterator[str]:
        for job in self.rows.values():
            name = f"{job.job_type} {job.id}"
            runs = self._of(job)
            if job.state not in FINAL:
                yield f"{name} has not ended: it is {job.state} ({job.hold or job.reason or 'no reason'})"
            elif job.state == State.COMPLETED:
                yield from self._rightly_completed(name, job, runs)
                if job.id in self._accepted.cancelled:
                    yield f"{name} is completed although its cancel was accepted"
            elif job.state == State.FAILED:
                yield from self._rightly_failed(name, job, runs)
            elif job.id not in self._accepted.cancelled:
                yield f"{name} is cancelled ({job.reason}), and nobody asked for that"

    def _rightly_completed(self, name: str, job: Job, runs: list[Run]) -> Iterator[str]:
        ends = [
            line.at for run in runs for line in run.lines if line.what == "end" and run.lease == job.lease
        ]
        if not ends:
            yield f"{name} is completed under lease {job.lease}, but that run did not end in the file"
            return
        assert job.finished_at is not None
        early = ends[0] - (job.finished_at.timestamp() - self._offset)
        if early > CLOCK_SECONDS:
            yield f"{name} was completed {early:.2f} s before its work was done"

    def _rightly_failed(self, name: str, job: Job, runs: list[Run]) -> Iterator[str]:
        broke_off = sum(run.unfinished for run in runs)
        if job.cause == Cause.CRASHED:
            if broke_off < self._budget:
                yield f"{name} failed as crashed after {broke_off} broken runs"
        elif job.params.get("fails", 0) < job.max_attempts:
            yield f"{name} failed: {job.cause} {job.error[:80]}"
        elif sum(line.what == "fail" for run in runs for line in run.lines) < job.max_attempts:
            yield f"{name} failed before it had used its {job.max_attempts} attempts"

    def _attempts(self) -> Iterator[str]:
        ends: dict[UUID, list[tuple[str, int]]] = defaultdict(list)
        rows = JobAttempt.objects.filter(job__user_id=self._accepted.tag, outcome__in=ENDS)
        for job_id, outcome, lease in rows.values_list("job_id", "outcome", "lease"):
            ends[job_id].append((outcome, lease))
        for job in self.rows.values():
            known = ends.get(job.id, [])
            # One that did not run when it ended (cancelled, released by its children) has no run to end it.
            if len(known) > 1:
                yield f"{job.job_type} {job.id} ended {len(known)} times: {known}"
            if job.state == State.COMPLETED and known != [("complete", job.lease)]:
                yield f"{job.job_type} {job.id} is completed under lease {job.lease}; its record says {known}"

    # -- the runs ----------------------------------------------------------------------------------------

    def _runs(self) -> Iterator[str]:
        for job in self.rows.values():
            name = f"{job.job_type} {job.id}"
            for run in self._of(job):
                if run.starts > 1:
                    yield f"{name} started {run.starts} times under lease {run.lease}"
                if run.lease > job.lease:
                    yield f"{name} ran under lease {run.lease}, which no row has given"
                if run.first.attempt > job.max_attempts:
                    yield f"{name} made attempt {run.first.attempt} of {job.max_attempts}"
            fails = sum(line.what == "fail" for run in self._of(job) for line in run.lines)
            if fails > max(job.failures, job.max_attempts):
                yield f"{name} failed {fails} times with {job.max_attempts} attempts"

    def _times(self) -> Iterator[str]:
        for job_id, cancel in self._accepted.cancelled.items():
            for run in self.runs.get(str(job_id), []):
                late = run.lease > cancel.lease if cancel.running else run.first.at > cancel.at
                if late:
                    yield f"job {job_id} started {run.first.at - cancel.at:.3f} s after its cancel"
        for job_id, at in self._accepted.due.items():
            for run in self.runs.get(str(job_id), []):
                if run.first.at < at - EARLY_SECONDS:
                    yield f"job {job_id} started {at - run.first.at:.3f} s before it was due"

    def _families(self) -> Iterator[str]:
        for job in self.rows.values():
            parent = self.rows.get(job.parent_id) if job.parent_id else None
            if parent is None or parent.state != State.COMPLETED:
                continue
            ended = [run.first.at for run in self._of(parent) if run.ended]
            done = [line.at for run in self._of(job) for line in run.lines if line.what == "end"]
            if not done or not ended or min(ended) < min(done):
                yield f"parent {parent.id} ended before its child {job.id}"

    def _steps(self) -> Iterator[str]:
        for job in self.rows.values():
            if job.job_type != "chaos.steps":
                continue
            lines = sorted((line for run in self._of(job) for line in run.lines), key=lambda line: line.at)
            yield from _step_faults(str(job.id), lines, job)

    def _alone(self) -> Iterator[str]:
        domains: dict[str, list[Run]] = defaultdict(list)
        for job in self.rows.values():
            key = job.concurrency_key or ("exclusive" if job.exclusive else "")
            if key:
                domains[key] += self._of(job)
        for key, runs in domains.items():
            yield from self._overlaps(key, runs)

    def _overlaps(self, key: str, runs: list[Run]) -> Iterator[str]:
        spans = []
        for run in runs:
            lines = run.lines
            for pid, since, until in self._frozen:
                if run.last.pid == pid and run.first.at < since < run.last.at:
                    # Nothing can stop what is frozen; thawed, it must notice soon.
                    lines = [line for line in run.lines if line.at <= since]
                    late = run.last.at - until
                    if late > self._scale.lease / 2:
                        yield f"{key}: a thawed run of {run.job} worked on for {late:.2f} s"
            spans.append((lines[0].at, lines[-1].at, run))
        spans.sort(key=lambda span: span[0])
        for (_, until_, before), (since_, _, after) in zip(spans, spans[1:], strict=False):
            if since_ < until_:
                yield (
                    f"{key}: {before.job} (lease {before.lease}) and {after.job} (lease {after.lease}) "
                    f"ran together for {until_ - since_:.3f} s"
                )


def _step_faults(job_id: str, lines: list[Line], job: Job) -> Iterator[str]:
    done: set[int] = set()
    saved = 0
    for line in lines:
        if line.what == "saved":
            saved = max(saved, int(line.note))
        elif line.what == "step":
            number = int(line.note)
            done.add(number)
            if number <= saved and line.lease > 0:
                yield f"job {job_id} did step {number} again, which it had saved"
    if job.state == State.COMPLETED and done != set(range(1, job.params["count"] + 1)):
        yield f"job {job_id} is completed with the steps {sorted(done)} of {job.params['count']}"
