"""What a Celery task sees of its run when it runs as a job: its ``self.request``.

A retry goes by the job and not by the broker, which Celery itself does for runs that it calls eager: it raises what
was asked for and sends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from celery.app.task import Context
from celery.utils.nodenames import gethostname

from tasks.context import JobContext
from tasks.outcomes import Fail

NO_CANVAS = (
    "runs as a job, which cannot be replaced by a chain, a group or a chord. Spawn children of the job, or enqueue "
    "the other work as jobs of its own."
)


class BoundRequest(Context):
    """The request of one run. ``id`` is that of the job, the same in every run; ``retries`` counts the runs before."""

    def __init__(self, task: Any, job: JobContext, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        job_id = str(job.id)
        super().__init__(
            id=job_id,
            root_id=job_id,
            correlation_id=job_id,
            task=task.name,
            args=list(args),
            kwargs=dict(kwargs),
            retries=max(0, job.attempt - 1),
            called_directly=False,
            is_eager=True,
            hostname=gethostname(),
            delivery_info={},
            headers={},
            timelimit=(task.time_limit, task.soft_time_limit),
            utc=True,
        )
        self._job = job

    def get(self, key: str, default: Any = None) -> Any:
        """A value of the request. Raises Fail where a task is about to replace itself."""
        if key == "replaced_task_nesting":  # asked for by Task.replace alone, before it runs anything
            raise Fail(f"The task {self.task} {NO_CANVAS}", retryable=False)
        return super().get(key, default)

    def report(self, state: str | None, meta: Any) -> None:
        """What the task says of its state, as the progress of the job."""
        told = meta if isinstance(meta, Mapping) else {}
        label = told.get("label") or told.get("status") or ("" if state in (None, "PROGRESS") else state)
        self._job.progress(told.get("current"), told.get("total"), str(label))


class States:
    """``update_state`` of one task object: in a job it is progress; elsewhere what it was."""

    def __init__(self, task: Any) -> None:
        self._task = task
        self._elsewhere = task.update_state

    def __call__(
        self, task_id: str | None = None, state: str | None = None, meta: Any = None, **options: Any
    ) -> Any:
        request = self._task.request_stack.top
        if isinstance(request, BoundRequest) and task_id in (None, request.id):
            request.report(state, meta)
            return None
        return self._elsewhere(task_id, state, meta, **options)
