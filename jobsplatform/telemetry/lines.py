"""Every log line about jobs, workers and switches: one function an event, and nothing else writes any.

A run prints one outcome line, ``job.run``; what happens to the job next (a retry, an interruption, a loss)
is an event of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from django.db.models.signals import post_save

from jobsplatform.kernel import events as kernel_events
from jobsplatform.kernel.durations import short
from jobsplatform.kernel.models import Process
from jobsplatform.models import Tally
from jobsplatform.telemetry.batching import BATCH
from jobsplatform.telemetry.logs import CLEAN, FIELDS
from tasks import events

logger = logging.getLogger("jobsplatform.jobs")

SHORT_RUN_MS = 1000
"""The lines of runs below this may wait a moment to be written together."""
MESSAGE_LIMIT = 500
RUN_OUTCOMES = frozenset({"ok", "paused", "err"})


def install() -> None:
    """Subscribe to everything that is told here. Again changes nothing."""
    for kind, subscriber in _SUBSCRIBERS.items():
        kernel_events.subscribe(kind, subscriber)
    post_save.connect(_process_saved, sender=Process, dispatch_uid="jobsplatform.telemetry.lines")


def _write(
    level: int, event: str, text: str, fields: dict[str, Any], *, waits: bool = False, clean: bool = False
) -> None:
    """``clean``: every value is of ours, there is nothing to redact."""
    if logger.isEnabledFor(level):
        # Built by hand: Logger.log would walk the stack for a line number that nobody asks for.
        record = logging.LogRecord(logger.name, level, "", 0, event, None, None)
        record.__dict__[FIELDS] = {"text": text, **fields}
        record.__dict__[BATCH] = waits
        record.__dict__[CLEAN] = clean
        logger.handle(record)


# -- one run -----------------------------------------------------------------------------------------


def run_ended(event: events.RunEnded) -> None:
    """The outcome line of a run, then what becomes of its job."""
    if event.outcome in RUN_OUTCOMES:
        ok = event.outcome == "ok"
        _write(
            logging.INFO if ok else logging.WARNING, "job.run", outcome_text(event), _outcome(event),
            waits=ok and event.elapsed_ms < SHORT_RUN_MS, clean=ok and event.extra is None,
        )  # fmt: skip
    follow_up = _FOLLOW_UPS.get(event.move)
    if follow_up is not None:
        follow_up(event)


def outcome_text(event: events.RunEnded) -> str:
    """``job X ran in E — count=N`` and its two sisters."""
    job, length = job_name(event), short(event.elapsed_ms)
    if event.outcome == "err":
        return f"job {job} failed after {length} — {message(event)}"
    count = "-" if event.count is None else event.count
    if event.outcome == "paused":
        return f"job {job} PAUSED after {length} — count={count} (resume when the cause clears)"
    return f"job {job} ran in {length} — count={count}"


def message(event: events.RunEnded) -> str:
    """Why a run ended badly, in one line."""
    told = event.error or event.reason or event.cause or "no reason given"
    shown = " ".join(told.split())
    return shown if len(shown) <= MESSAGE_LIMIT else shown[: MESSAGE_LIMIT - 1] + "…"


def job_name(event: events.RunEnded) -> str:
    """The job type, with its app before it when it has one."""
    return f"{event.app_id}:{event.job_type}" if event.app_id else event.job_type


def _outcome(event: events.RunEnded) -> dict[str, Any]:
    return {
        "job": job_name(event),
        "outcome": event.outcome,
        "cause": event.cause or None,
        "count": event.count,
        "elapsed_ms": round(event.elapsed_ms, 1),
        "extra": event.extra,
        "error": message(event) if event.outcome == "err" else None,
        "retryable": event.retryable,
        **_ids(event),
    }


def _ids(event: events.RunEnded) -> dict[str, Any]:
    return {"job_id": str(event.job_id), "attempt": event.attempt, "lease": event.lease}


def _retry(event: events.RunEnded) -> None:
    again = "" if event.retry_in is None else f" in {short(event.retry_in * 1000)}"
    fields = {
        "job": job_name(event),
        "cause": event.cause or None,
        "retry_in_s": event.retry_in,
        "reason": event.reason or None,
        **_ids(event),
    }
    _write(logging.WARNING, "job.retry", f"job {job_name(event)} will be tried again{again}", fields)


def _snoozed(event: events.RunEnded) -> None:
    again = "" if event.retry_in is None else f" for {short(event.retry_in * 1000)}"
    fields = {
        "job": job_name(event),
        "snoozed_s": event.retry_in,
        "elapsed_ms": round(event.elapsed_ms, 1),
        **_ids(event),
    }
    _write(logging.INFO, "job.snoozed", f"job {job_name(event)} sleeps{again}; no attempt used", fields)


def _interrupted(event: events.RunEnded) -> None:
    text = (
        f"job {job_name(event)} interrupted after {short(event.elapsed_ms)}; it goes on from its checkpoint"
    )
    _write(logging.INFO, "job.interrupted", text, _reasoned(event))


def _lost(event: events.RunEnded) -> None:
    next_step = "its crash budget is spent: failed" if event.state == "failed" else "it will be run again"
    text = f"job {job_name(event)} lost after {short(event.elapsed_ms)}; {next_step}"
    _write(logging.WARNING, "job.lost", text, {**_reasoned(event), "state": event.state})


def _stopped(event: events.RunEnded) -> None:
    text = f"job {job_name(event)} cancelled after {short(event.elapsed_ms)}"
    _write(logging.INFO, "job.cancelled", text, _reasoned(event))


def _waiting(event: events.RunEnded) -> None:
    if event.outcome in RUN_OUTCOMES:
        return
    text = f"job {job_name(event)} waits for its children or a finish from outside, after {short(event.elapsed_ms)}"
    _write(logging.INFO, "job.waiting", text, _reasoned(event))


def _reasoned(event: events.RunEnded) -> dict[str, Any]:
    return {
        "job": job_name(event),
        "reason": event.reason or event.error or None,
        "elapsed_ms": round(event.elapsed_ms, 1),
        **_ids(event),
    }


_FOLLOW_UPS: dict[str, Callable[[events.RunEnded], None]] = {
    "retry": _retry,
    "snooze": _snoozed,
    "interrupt": _interrupted,
    "lose": _lost,
    "crash": _lost,
    "stop": _stopped,
    "wait": _waiting,
}


# -- around the runs ---------------------------------------------------------------------------------


def job_submitted(event: events.JobSubmitted) -> None:
    if not logger.isEnabledFor(logging.DEBUG):
        return
    name = event.handler_key.lstrip(":")
    fields = {"job": name, "job_id": str(event.job_id), "queue": event.queue, "status": event.status}
    _write(logging.DEBUG, "job.submitted", f"job {name} submitted ({event.status})", fields, waits=True)


def run_started(event: events.RunStarted) -> None:
    if not logger.isEnabledFor(logging.DEBUG):  # nearly always; the fields cost more than the question
        return
    name = f"{event.app_id}:{event.job_type}" if event.app_id else event.job_type
    fields = {
        "job": name,
        "job_id": str(event.job_id),
        "attempt": event.attempt,
        "lease": event.lease,
        "waited_ms": round(event.waited_ms, 1),
    }
    _write(logging.DEBUG, "job.started", f"job {name} started", fields, waits=True)


_MOVES_TOLD = {"cancel": "cancelled", "resume": "resumed", "revive": "retried"}


def job_moved(event: events.JobMoved) -> None:
    """Moves between runs; those that end a run are told by ``run_ended``."""
    told = _MOVES_TOLD.get(event.move)
    if told is None:
        return
    name = event.handler_key.lstrip(":")
    fields = {"job": name, "job_id": str(event.job_id), "state": event.state, "reason": event.reason or None}
    _write(logging.INFO, f"job.{told}", f"job {name} {told}", fields)


def tick_skipped(event: events.TickSkipped) -> None:
    text = f"job {event.job} is still at work ({short(event.running_for_ms)}): this one is skipped"
    fields = {"job": event.job, "interval_ms": event.interval_ms, "running_for_ms": event.running_for_ms}
    _write(logging.INFO, "job.tick_skipped", text, fields)


def cancel_requested(event: events.CancelRequested) -> None:
    name = event.handler_key.lstrip(":")
    fields = {"job": name, "job_id": str(event.job_id), "reason": event.reason}
    _write(logging.INFO, "job.cancel_requested", f"job {name} was asked to stop ({event.reason})", fields)


def lease_rejected(event: events.LeaseRejected) -> None:
    fields = {"job_id": str(event.job_id), "lease": event.lease, "where": event.where}
    text = f"a late {event.where} under lease {event.lease} changed nothing: the run was over or taken back"
    _write(logging.WARNING, "job.lease_rejected", text, fields)
    Tally.add(f"lease_rejected:{event.where[:40]}")


def worker_lost(event: events.WorkerLost) -> None:
    text = f"{event.name} stopped beating; {event.jobs} of its jobs were taken back"
    fields = {"process_id": str(event.process_id), "name": event.name, "jobs": event.jobs, **event.facts}
    _write(logging.WARNING, "worker.lost", text, fields)


def suspension_changed(event: events.SuspensionChanged) -> None:
    what = f"{event.scope} {event.target.lstrip(':')}".strip()
    done, name = ("suspended", "suspension.opened") if event.open else ("resumed", "suspension.lifted")
    fields = {
        "scope": event.scope,
        "target": event.target,
        "author": event.author,
        "reason": event.reason or None,
    }
    _write(logging.WARNING, name, f"{what} {done} by {event.author}", fields)


def _process_saved(sender: type[Process], instance: Process, created: bool, **_: Any) -> None:
    if not created:
        return
    fields = {
        "process_id": str(instance.pk),
        "name": instance.name,
        "host": instance.host,
        "pid": instance.pid,
        "version": instance.version,
        "queues": instance.queues,
        "concurrency": instance.concurrency,
        "handlers": len(instance.handlers),
    }
    _write(logging.INFO, f"{instance.role}.started", f"{instance.role} {instance.name} started", fields)


_SUBSCRIBERS: dict[type, Callable[[Any], None]] = {
    events.RunEnded: run_ended,
    events.RunStarted: run_started,
    events.JobSubmitted: job_submitted,
    events.JobMoved: job_moved,
    events.TickSkipped: tick_skipped,
    events.CancelRequested: cancel_requested,
    events.LeaseRejected: lease_rejected,
    events.WorkerLost: worker_lost,
    events.SuspensionChanged: suspension_changed,
}
