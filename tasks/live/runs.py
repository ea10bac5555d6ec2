"""Starts and ends of runs, seen in the rows: none is missed because a message was lost, none is told twice. Pure."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime
from typing import Any

from tasks.live.facts import Run, running
from tasks.output import iso
from tasks.states import FINAL, State

REMEMBERED = 5000
_ON_ITS_WAY = frozenset({State.RUNNING, State.WAITING})


class RunWatch:
    """Compares where runs stand with where they stood. What began or ended before ``since`` is no news."""

    def __init__(self, since: datetime) -> None:
        self._since = since
        self._known: OrderedDict[str, tuple[int, bool]] = OrderedDict()  # job → lease, has it ended

    def look(self, run: Run) -> list[dict[str, Any]]:
        """The events that this row tells of, in their order."""
        if run.started_at is None or run.state is State.DISPATCHED:
            return []
        lease, ended = self._known.get(run.job_id, (-1, True))
        on_its_way = run.state in _ON_ITS_WAY
        told: list[dict[str, Any]] = []
        if run.lease != lease:
            if not on_its_way and run.state not in FINAL:
                return []  # a run that failed and waits for its next attempt, before we looked
            if run.started_at >= self._since:
                told.append({"name": "job_run_started", **running(run)})
            ended = False
        if not on_its_way and not ended:
            if run.lease == lease or (run.finished_at is not None and run.finished_at >= self._since):
                told.append(self._end(run))
            ended = True
        self._known[run.job_id] = (run.lease, ended)
        self._known.move_to_end(run.job_id)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return told

    def _end(self, run: Run) -> dict[str, Any]:
        return {
            "name": "job_run_ended",
            "app_id": run.app_id,
            "job_type": run.job_type,
            "job_id": run.job_id,
            "success": run.state is State.COMPLETED,
            "reason": run.reason,
            "ended_at": iso(run.finished_at),
        }
