"""Tasks and their jobs: enqueue one, run one, and what a job's rows say as the result of its task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any
from uuid import UUID

from django.db import transaction

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput, JobNotFound
from tasks import finding
from tasks.async_run import run_async
from tasks.context import JobContext
from tasks.django_tasks.handler import TaskHandler
from tasks.django_tasks.names import (
    InvalidTask,
    Task,
    TaskContext,
    TaskError,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
    normalize_json,
    task_backends,
    task_enqueued,
    task_finished,
    task_started,
)
from tasks.django_tasks.priorities import to_job, to_task
from tasks.models import Job, JobAttempt
from tasks.outcomes import Directive, JobCancelled, LeaseLost, Outcome
from tasks.queries import get_job, shown_job
from tasks.states import State
from tasks.submit import JobRequest, submit

_STATUSES = {
    State.PENDING: TaskResultStatus.READY,
    State.DISPATCHED: TaskResultStatus.READY,
    State.RUNNING: TaskResultStatus.RUNNING,
    State.WAITING: TaskResultStatus.RUNNING,
    State.PAUSED: TaskResultStatus.READY,
    State.COMPLETED: TaskResultStatus.SUCCESSFUL,
    State.FAILED: TaskResultStatus.FAILED,
    State.CANCELLED: TaskResultStatus.FAILED,
}

_PATHS = {
    "TimeLimitExceeded": "billiard.exceptions.TimeLimitExceeded",
    "SoftTimeLimitExceeded": "billiard.exceptions.SoftTimeLimitExceeded",
    "ResultInvalid": "jobsplatform.kernel.errors.ParamsInvalid",
    "TransactionLeftOpen": "django.db.transaction.TransactionManagementError",
}
"""What the platform itself writes as the type of an error, as the path of a class."""
_LOST = "billiard.exceptions.WorkerLostError"
_CANCELLED = f"{JobCancelled.__module__}.{JobCancelled.__qualname__}"
_OTHER = "builtins.RuntimeError"

_STEERING = (Outcome, Directive, JobCancelled, LeaseLost)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTaskContext(TaskContext):
    """The context of a task that runs as a job: ``job`` reports progress, asks whether to stop, saves checkpoints."""

    job: JobContext


def enqueue(
    backend: Any, handler: TaskHandler, task: Task, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> TaskResult:
    """Make a job of a task, and tell by ``task_enqueued``."""
    sent = {"args": normalize_json(list(args)), "kwargs": normalize_json(dict(kwargs))}
    now = clock.now()
    options = dict(getattr(task, "options", {}))
    if backend.alias != handler.alias:
        # The type is what the alias of its declaration says; how often a job may run is its own affair.
        own = TaskHandler(task, backend.alias, backend.options).spec.max_attempts
        options.setdefault("max_attempts", own)
    request = JobRequest(
        job_type=handler.spec.job_type,
        params={**sent, "backend": backend.alias},
        run_after=task.run_after,
        priority=to_job(task.priority),
        queue=task.queue_name,
        **options,
    )
    # Where jobs run in their callers, this one does so after the block: once it is told that it is enqueued.
    with transaction.atomic():
        made = submit(request, now)
        assert made.id is not None  # only a tick of a schedule may make none
        if made.status == "replayed":
            return get(str(made.id), backend.alias)
        result = TaskResult(
            task=task,
            id=str(made.id),
            status=TaskResultStatus.READY,
            enqueued_at=now,
            started_at=None,
            finished_at=None,
            last_attempted_at=None,
            args=sent["args"],
            kwargs=sent["kwargs"],
            backend=backend.alias,
            errors=[],
            worker_ids=[],
        )
        task_enqueued.send(type(backend), task_result=result)
    return result


def get(result_id: str, alias: str) -> TaskResult:
    """The result of a task of this backend. Raises TaskResultDoesNotExist."""
    try:
        job = get_job(result_id)
    except (JobNotFound, InvalidInput):
        raise TaskResultDoesNotExist(result_id) from None
    handler = finding.find(job.app_id, job.job_type)
    if not isinstance(handler, TaskHandler) or job.params.get("backend") != alias:
        raise TaskResultDoesNotExist(result_id)
    return result_of(job, handler)


def run(handler: TaskHandler, context: JobContext) -> Any:
    """Call a task's function in the run of its job; its answer as JSON would give it back."""
    alias, task = context.params["backend"], handler.task
    result = result_of(get_job(context.id), handler)
    _sender(alias, task_started).send_robust(result)
    args = [JobTaskContext(task_result=result, job=context)] if task.takes_context else []
    args += context.params["args"]
    if iscoroutinefunction(task.func):
        answer = run_async(task.func, *args, **context.params["kwargs"])
    else:
        answer = task.call(*args, **context.params["kwargs"])
    return answer if isinstance(answer, _STEERING) else normalize_json(answer)


def tell_end(job_id: UUID) -> None:
    """Tell by ``task_finished`` that a task has ended, and how."""
    try:
        job = get_job(job_id)
    except JobNotFound:
        return  # it is not kept
    handler = finding.find(job.app_id, job.job_type)
    if isinstance(handler, TaskHandler):
        _sender(job.params["backend"], task_finished).send_robust(result_of(job, handler))


@dataclass(frozen=True, slots=True)
class _sender:
    alias: str
    signal: Any

    def send_robust(self, result: TaskResult) -> None:
        self.signal.send_robust(type(task_backends[self.alias]), task_result=result)


# -- from rows to a result -----------------------------------------------------------------------------


def result_of(job: Job, handler: TaskHandler) -> TaskResult:
    """What the rows of a job say as the result of its task. An alias shows what its leader does."""
    shown = shown_job(job)
    attempts = list(JobAttempt.objects.filter(job=shown.pk).order_by("lease"))
    status = _STATUSES[State(shown.state)]
    result = TaskResult(
        task=_task(job, handler),
        id=str(job.pk),
        status=status,
        enqueued_at=job.created_at,
        started_at=shown.first_started_at,
        finished_at=shown.finished_at,
        last_attempted_at=shown.started_at,
        args=job.params["args"],
        kwargs=job.params["kwargs"],
        backend=job.params["backend"],
        errors=_errors(shown, attempts),
        worker_ids=_workers(shown, attempts),
    )
    if status == TaskResultStatus.SUCCESSFUL:
        object.__setattr__(result, "_return_value", shown.result)
    return result


def _task(job: Job, handler: TaskHandler) -> Task:
    """The task as it was enqueued; as it is declared, where that would be refused today (its queue is gone)."""
    changes: dict[str, Any] = {
        "priority": to_task(job.priority),
        "queue_name": job.queue,
        "run_after": job.run_after,
        "backend": job.params["backend"],
    }
    try:
        return handler.task.using(**changes)
    except InvalidTask:
        return handler.task


def _workers(job: Job, attempts: Sequence[JobAttempt]) -> list[str]:
    """One entry a run: how often it ran is counted by them."""
    workers = [str(attempt.worker_id or "") for attempt in attempts]
    if job.state == State.RUNNING and job.lease not in {attempt.lease for attempt in attempts}:
        workers.append(str(job.worker_id))
    return workers


def _errors(job: Job, attempts: Sequence[JobAttempt]) -> list[TaskError]:
    errors = [
        _error(_path(attempt.error_type, attempt.outcome), attempt.traceback, attempt.error)
        for attempt in attempts
        if attempt.outcome in ("retry", "fail", "lose", "crash")
    ]
    if job.state == State.CANCELLED:
        errors.append(_error(_CANCELLED, "", f"cancelled: {job.cancel_reason or job.reason or 'user'}"))
    elif job.state == State.FAILED and not errors:
        errors.append(_error(_path(job.error_type, ""), "", job.error))
    return errors


def _error(path: str, traceback: str, text: str) -> TaskError:
    return TaskError(exception_class_path=path, traceback=traceback or f"{path}: {text}\n")


def _path(error_type: str, outcome: str) -> str:
    if outcome in ("lose", "crash"):
        return _LOST
    return error_type if "." in error_type else _PATHS.get(error_type, _OTHER)
