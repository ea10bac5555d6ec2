"""``core.tasks.run``: the only Celery task that runs jobs. Its message is a hint; the row decides."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any
from uuid import UUID

import structlog
from billiard.exceptions import SoftTimeLimitExceeded
from celery import Task, shared_task

from jobsplatform.kernel import clock, db
from tasks import finish, pack, run
from tasks.worker.inflight import RunKey, parse_keys, sender_of
from tasks.worker.sender import TASK_NAME

log = structlog.get_logger("jobsplatform.worker")

_terminable_pid = 0


class RunTask(Task):
    """Celery's side of a run: no results, acknowledged at its start, watched by ``RunRequest``."""

    abstract = True
    Request = "tasks.worker.request:RunRequest"
    Strategy = "tasks.worker.strategy:strategy"
    acks_late = False
    ignore_result = True
    typing = False
    max_retries = 0


@shared_task(bind=True, base=RunTask, name=TASK_NAME)
def run_job(self: Task, *args: Any, **kwargs: Any) -> None:
    """Run the job that ``args`` (job id, lease) name, if that lease still waits to be started; or the jobs of a
    pack (pack, 0); or each of a list of such, in turn.

    A forged, late or repeated message does nothing but write one line.
    """
    keys, worker_id = parse_keys(args, kwargs), sender_of(self.request.headers or self.request)
    if not keys or worker_id is None:
        log.warning("message.refused", text="a run message that names no job, lease and worker was dropped")
        return
    processes = not self.request.is_eager and _in_pool_process()
    if processes:
        _let_terminate_kill()
    db.close_stale()
    if len(keys) > 1:
        run.run_in_turn(keys, worker_id, can_kill=processes)
    else:
        _do(keys[0], worker_id, processes)


def _do(key: RunKey, worker_id: UUID, processes: bool) -> None:
    job_id, lease = key
    if lease == 0:
        pack.run_pack(job_id, worker_id, can_kill=processes)
        return
    try:
        run.run(job_id, lease, worker_id=worker_id, can_kill=processes)
    except SoftTimeLimitExceeded:
        # It struck after the handler had returned, while its end was being written.
        finish.timed_out(job_id, lease, clock.now())


def _in_pool_process() -> bool:
    """Whether this is a process of the pool, which can be killed; not so in a pool of threads."""
    return threading.current_thread() is threading.main_thread()


def _let_terminate_kill() -> None:
    """SIGTERM ends this process at once.

    The pool sends it first when a hard limit has passed. Turned into SystemExit, as the pool would have it,
    it would look like the handler's own end, and a handler that catches everything would live on.
    """
    global _terminable_pid
    if _terminable_pid != os.getpid():
        _terminable_pid = os.getpid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
