"""Starts and ends of runs, seen in the rows: none is missed because a message was lost, none is told twice. Pure."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tasks.live.facts import Run, on_its_way, running
from tasks.output import iso
from tasks.states import FINAL, State

REMEMBERED = 5000


@dataclass(slots=True)
class _Last:
    """A job's last run as it was seen. ``continuing``: what began last is its continuation."""

    app_id: str
    job_type: str
    started_at: datetime
    continuing: bool
    ended: bool = False


class RunWatch:
    """Compares where runs stand with where they stood. What began or ended before ``since`` is no news.

    A run is known by the instant at which it began: whatever was claimed and not begun is none. While its children
    run, and until its continuation has ended, it is one and the same run.
    """

    def __init__(self, since: datetime) -> None:
        self._since = since
        self._known: OrderedDict[str, _Last] = OrderedDict()

    def look(self, run: Run) -> list[dict[str, Any]]:
        """The events that this row tells of, in their order."""
        if run.started_at is None:
            return []
        last = self._known.get(run.job_id)
        goes_on = _goes_on(run, last)
        told: list[dict[str, Any]] = []
        if last is not None and not last.ended and _continues(run, last):
            last.started_at, last.continuing = run.started_at, run.continuing
        elif last is None or last.started_at != run.started_at:
            if not goes_on and (run.state not in FINAL or _never_began(run)):
                return []  # the run that began then had ended before we looked
            if run.started_at >= self._since:
                told.append({"name": "job_run_started", **running(run)})
            # Nothing is known of a run that had begun before: its end is told by when that was.
            begun = run.continuing and not run.awaits_continuation
            last = _Last(run.app_id, run.job_type, run.started_at, begun)
            last.ended = not (goes_on or told or self._just_ended(run))
        if not goes_on and not last.ended:
            told.append(_end(run))
            last.ended = True
        self._keep(run.job_id, last)
        return told

    def on_their_way(self, app_id: str, job_type: str, most: int) -> list[str]:
        """The newest jobs of a type whose run has not ended, as far as is known."""
        found = [
            job_id
            for job_id, last in reversed(self._known.items())
            if not last.ended and (last.app_id, last.job_type) == (app_id, job_type)
        ]
        return found[:most]

    def _just_ended(self, run: Run) -> bool:
        return run.finished_at is not None and run.finished_at >= self._since

    def _keep(self, job_id: str, last: _Last) -> None:
        self._known[job_id] = last
        self._known.move_to_end(job_id)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


def _goes_on(run: Run, last: _Last | None) -> bool:
    if on_its_way(run):
        return True
    # Claimed and handed back, whatever reason that left: the continuation has still to begin.
    waits = run.continuing and run.state in (State.PENDING, State.DISPATCHED)
    return (
        waits
        and last is not None
        and not (last.ended or last.continuing)
        and last.started_at == run.started_at
    )


def _continues(run: Run, last: _Last) -> bool:
    """Is what began last the continuation of the run that we know?"""
    return run.continuing and not last.continuing and run.started_at != last.started_at


def _never_began(run: Run) -> bool:
    """Was it cancelled between two runs, or claimed for one that did not begin?"""
    if run.state is not State.CANCELLED or run.continuing or run.started_at is None:
        return False
    return run.dispatched_at is None or run.dispatched_at > run.started_at


def _end(run: Run) -> dict[str, Any]:
    return {
        "name": "job_run_ended",
        "app_id": run.app_id,
        "job_type": run.job_type,
        "job_id": run.job_id,
        "success": run.state is State.COMPLETED,
        "reason": run.reason,
        "ended_at": iso(run.finished_at),
    }
