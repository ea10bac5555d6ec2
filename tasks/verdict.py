"""What an ended run becomes. Pure: from the row as it stands and the run's ending to one move.

The rules are those of the table "Endings" in the docs: who uses an attempt, what a cancel outranks, when a
crash budget is spent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from tasks.outcomes import Ending
from tasks.retry import DelayRule
from tasks.states import INTERRUPTIONS, CancelReason, Cause, Hold


class Row(Protocol):
    """What a verdict looks at in a job."""

    id: Any
    failures: int
    max_attempts: int
    crashes: int
    losses: int
    cancel_reason: str
    preempted_by: Any
    pack: Any


@dataclass(frozen=True, slots=True)
class Rules:
    """What the type and the settings say."""

    backoff: DelayRule
    crash_budget: int = 3
    loss_budget: int = 10
    cancel_on_interrupt: bool = False


@dataclass(frozen=True, slots=True)
class Family:
    """The job's children, as the row lock found them."""

    spawned: bool = False
    open: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """One move of ``tasks.states.MOVES`` with its arguments; ``outcome`` as the outcome line says it."""

    move: str
    outcome: str
    facts: dict[str, Any] = field(default_factory=dict)
    due_at: datetime | None = None
    used: bool = False  # an attempt was used
    options: dict[str, Any] = field(default_factory=dict)


def judge(job: Row, ending: Ending, rules: Rules, family: Family, now: datetime) -> Verdict:
    """The one move that this ending makes."""
    asked = CancelReason(job.cancel_reason)
    if asked in (CancelReason.USER, CancelReason.SUPERSEDED):
        return _stopped(asked, ending)
    if ending.kind == "lost":
        return _lost(job, ending, rules)
    if ending.kind == "cancelled" and not asked:
        asked = CancelReason(ending.reason or CancelReason.USER)  # told by its process, not by the row
    if asked is not CancelReason.TIMEOUT and (
        ending.kind == "cancelled" or (asked in INTERRUPTIONS and ending.kind in ("completed", "deferred"))
    ):
        return _interrupted(job, asked, ending, rules)
    if asked is CancelReason.TIMEOUT:
        ending = Ending(
            "failed", cause=Cause.TIMEOUT, error="ran past its time limit", progress=ending.progress
        )
    handle = _BY_KIND[ending.kind]
    return handle(job, ending, rules, family, now)


def _facts(ending: Ending, **more: Any) -> dict[str, Any]:
    facts: dict[str, Any] = dict(more)
    if ending.progress is not None:
        done, total, label = ending.progress
        facts |= {"progress_done": done, "progress_total": total, "progress_label": label}
    return facts


def _stopped(asked: CancelReason, ending: Ending) -> Verdict:
    return Verdict("stop", "cancelled", _facts(ending, reason=str(asked)))


def _interrupted(job: Row, asked: CancelReason, ending: Ending, rules: Rules) -> Verdict:
    if asked not in INTERRUPTIONS or rules.cancel_on_interrupt:
        return _stopped(asked, ending)
    hold = Hold.PREEMPTED if asked is CancelReason.PREEMPTED and job.preempted_by else Hold.NONE
    facts = _facts(ending, reason=f"interrupted: {asked}", preempted_by=job.preempted_by if hold else None)
    return Verdict("interrupt", "interrupted", facts, options={"hold": hold})


def _lost(job: Row, ending: Ending, rules: Rules) -> Verdict:
    asked = CancelReason(job.cancel_reason)
    if asked in INTERRUPTIONS and rules.cancel_on_interrupt:
        return _stopped(asked, ending)
    if job.pack is not None:
        # Nobody can tell which job of a pack it was: none is charged, and each is run by itself next time.
        return Verdict("interrupt", "lost", _facts(ending, reason="lost: its pack died", solo=True))
    spent = (
        job.losses + 1 >= rules.loss_budget if ending.whole_worker else job.crashes + 1 >= rules.crash_budget
    )
    options = {"whole_worker": ending.whole_worker}
    reason = ending.reason or ("its worker died" if ending.whole_worker else "its process died")
    if not spent:
        return Verdict("lose", "lost", _facts(ending, reason=f"lost: {reason}"), options=options)
    error = f"{reason} {job.losses + 1 if ending.whole_worker else job.crashes + 1} times in a row"
    return Verdict("crash", "err", _facts(ending, reason="crash budget spent", error=error), options=options)


def _completed(job: Row, ending: Ending, rules: Rules, family: Family, now: datetime | None) -> Verdict:
    facts = _facts(ending, result=ending.result, error="", error_type="", reason="")
    if family.open or family.spawned:
        return Verdict(
            "wait", "waiting", facts | {"reason": "children"}, options={"open_end": False, "deadline": None}
        )
    return Verdict("complete", "ok", facts)


def _deferred(job: Row, ending: Ending, rules: Rules, family: Family, now: datetime | None) -> Verdict:
    assert now is not None
    deadline = now + timedelta(seconds=ending.deadline) if ending.deadline is not None else None
    return Verdict(
        "wait", "waiting", _facts(ending, reason="deferred"), options={"open_end": True, "deadline": deadline}
    )


def _failed(job: Row, ending: Ending, rules: Rules, family: Family, now: datetime | None) -> Verdict:
    used = job.failures + 1
    facts = _facts(
        ending,
        error=ending.error,
        error_type=ending.error_type,
        cause=ending.cause or Cause.HANDLER,
        reason="failed" if ending.kind == "failed" else ending.reason[:200],
    )
    if not ending.retryable or used >= job.max_attempts:
        return Verdict("fail", "err", facts, used=True, options={"used": True})
    wait = ending.after if ending.after is not None else rules.backoff.delay(used, str(job.id))
    return Verdict("retry", "retry", facts, used=True, due_at=now + timedelta(seconds=wait) if now else None)


def _retry(job: Row, ending: Ending, rules: Rules, family: Family, now: datetime | None) -> Verdict:
    asked = Ending(
        "retry",
        after=ending.after,
        reason=ending.reason or "retry asked for",
        progress=ending.progress,
        error=ending.error or ending.reason,
        error_type=ending.error_type or "Retry",
        cause=Cause.HANDLER,
    )
    return _failed(job, asked, rules, family, now)


def _snoozed(job: Row, ending: Ending, rules: Rules, family: Family, now: datetime | None) -> Verdict:
    assert now is not None
    facts = _facts(ending, reason=ending.reason[:200] or "snoozed")
    return Verdict("snooze", "snoozed", facts, due_at=now + timedelta(seconds=ending.after or 0))


def _discarded(job: Row, ending: Ending, rules: Rules, family: Family, now: datetime | None) -> Verdict:
    return Verdict("stop", "discarded", _facts(ending, reason=ending.reason[:200] or "discarded"))


def _paused(job: Row, ending: Ending, rules: Rules, family: Family, now: datetime | None) -> Verdict:
    assert now is not None
    resume_at = None
    if ending.retryable:
        wait = (
            ending.after if ending.after is not None else rules.backoff.delay(job.failures + 1, str(job.id))
        )
        resume_at = now + timedelta(seconds=wait)
    facts = _facts(ending, reason=ending.reason[:200] or "paused")
    return Verdict("pause", "paused", facts, due_at=resume_at)


_BY_KIND = {
    "completed": _completed,
    "deferred": _deferred,
    "failed": _failed,
    "retry": _retry,
    "snoozed": _snoozed,
    "discarded": _discarded,
    "paused": _paused,
}
