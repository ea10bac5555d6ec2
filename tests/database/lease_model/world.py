"""The job types of the model, what a run may write, and how the whole of the tables is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from jobsplatform.kernel import clock
from tasks import finish, registry, reporter, transitions
from tasks.context import Child, JobContext
from tasks.handlers import job
from tasks.models import Job, JobAttempt
from tasks.outcomes import Ending, LeaseLost
from tasks.retry import Fixed
from tasks.states import Cause, State

QUEUES = ("default", "other")
CAPS = {"other": 4}
TYPE_LIMITS = {":model.limited": 2, ":model.exclusive": 1}
KEY_LIMIT = 1
SETTINGS = {"queue_caps": CAPS, "crash_budget": 2, "worker_loss_budget": 3, "resend_seconds": 10.0}

KINDS = ("plain", "keyed", "exclusive", "limited", "deduped", "latest", "parent", "urgent", "strict")

Rows = dict[UUID, dict[str, Any]]
Everything = tuple[Rows, frozenset[tuple[UUID, int]]]


@contextmanager
def declared() -> Iterator[None]:
    """The job types of the model. None of their bodies is run: the machine says how each run ends."""
    with registry.preserved():

        @job("model.plain", backoff=Fixed(5), preemptible=True)
        def plain(n: int = 0) -> None: ...

        @job("model.keyed", concurrency_key="key:{n}", concurrency_limit=KEY_LIMIT, backoff=Fixed(5))
        def keyed(n: int = 0) -> None: ...

        @job("model.exclusive", exclusive=True, backoff=Fixed(5))
        def exclusive(n: int = 0) -> None: ...

        @job("model.limited", max_concurrency=2, backoff=Fixed(5), max_attempts=2)
        def limited(n: int = 0) -> None: ...

        @job("model.deduped", dedupe_key="same:{n}", backoff=Fixed(5))
        def deduped(n: int = 0) -> None: ...

        @job("model.latest", dedupe_key="last:{n}", dedupe="keep_latest", backoff=Fixed(5))
        def latest(n: int = 0) -> None: ...

        @job("model.urgent", priority=1000, max_attempts=1)
        def urgent(n: int = 0) -> None: ...

        @job("model.strict", on_interrupt="cancel", timeout=30, backoff=Fixed(5))
        def strict(n: int = 0) -> None: ...

        @job("model.parent", backoff=Fixed(5))
        def parent(ctx: JobContext, n: int = 0) -> None: ...

        @parent.continuation
        def _(ctx: JobContext, n: int = 0) -> None: ...

        @job("model.child", backoff=Fixed(5), max_attempts=2)
        def child(n: int = 0) -> None: ...

        yield


@dataclass(frozen=True)
class Run:
    """One run as its worker process remembers it, whatever has become of its lease."""

    job_id: UUID
    lease: int

    def held(self) -> bool:
        """Whether the row still says so."""
        return Job.objects.filter(id=self.job_id, lease=self.lease, state=State.RUNNING).exists()


_ENDINGS = (
    Ending("completed", result={"ok": True}),
    Ending("completed"),
    Ending("failed", cause=Cause.HANDLER, error="model"),
    Ending("failed", cause=Cause.PANICKED, error="model"),
    Ending("failed", cause=Cause.HANDLER, error="model", retryable=False),
    Ending("failed", cause=Cause.TIMEOUT, error="model"),
    Ending("retry", after=5.0, reason="model"),
    Ending("snoozed", after=5.0),
    Ending("discarded", reason="model"),
    Ending("paused", reason="model", retryable=False),
    Ending("paused", reason="model", retryable=True),
    Ending("deferred", deadline=30.0),
    Ending("cancelled", cause=Cause.CANCELLED),
    Ending("cancelled", cause=Cause.CANCELLED, reason="shutdown"),
)
ENDINGS: dict[str, Ending] = {f"{ending.kind} {n}": ending for n, ending in enumerate(_ENDINGS)}


def spawn(run: Run) -> bool:
    """Two children, as the context's port makes them."""
    row = Job.objects.get(id=run.job_id)
    row.lease = run.lease  # as it was when the run began
    handler = registry.get(row.app_id, row.job_type)
    try:
        reporter.direct_port(row, handler).spawn([Child("model.child", {}, key) for key in "ab"], False)
    except LeaseLost:
        return False
    return True


def _now() -> Any:
    return clock.now()


WRITES: dict[str, Callable[[Run], Any]] = {
    "progress": lambda r: transitions.progress(r.job_id, r.lease, 1, 2, "late", _now()),
    "checkpoint": lambda r: transitions.checkpoint(r.job_id, r.lease, {"at": r.lease}, _now()),
    "data": lambda r: transitions.merge_data(r.job_id, r.lease, {"by": r.lease}, _now()),
    "children": spawn,
}
ENDS: dict[str, Callable[[Run], Any]] = {
    "lost child": lambda r: finish.lost(r.job_id, r.lease, whole_worker=False, reason="model", now=_now()),
    "lost worker": lambda r: finish.lost(r.job_id, r.lease, whole_worker=True, reason="model", now=_now()),
    "time limit": lambda r: finish.timed_out(r.job_id, r.lease, _now()),
    "killed": lambda r: finish.killed(r.job_id, r.lease, _now()),
    **{
        name: lambda r, ending=ending: finish.finish(r.job_id, r.lease, ending, _now())
        for name, ending in ENDINGS.items()
    },
}


def everything() -> Everything:
    """Every job row and every attempt."""
    rows = {row["id"]: row for row in Job.objects.values()}
    return rows, frozenset(JobAttempt.objects.values_list("job_id", "lease"))


def difference(before: Everything, after: Everything) -> str:
    """What has changed, in one line a row."""
    lines = [f"attempts {sorted(map(str, before[1] ^ after[1]))}"] if before[1] != after[1] else []
    for job_id in before[0].keys() | after[0].keys():
        old, new = before[0].get(job_id, {}), after[0].get(job_id, {})
        changed = {k: (old.get(k), new.get(k)) for k in old.keys() | new.keys() if old.get(k) != new.get(k)}
        if changed:
            lines.append(f"{job_id} {changed}")
    return "\n".join(lines)
