"""Mistakes that schedulers have been shipped with, planted one at a time; the simulation has to notice each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any
from unittest.mock import patch

from django.db import connection

from jobsplatform.kernel.ids import uuid7
from scheduler import batch, planning, steps, tickets, trigger
from scheduler.models import ScheduleState, ScheduleTriggerLog
from scheduler.sql import log

KEY = "log_one_per_slot"


@contextmanager
def no_unique_key() -> Iterator[None]:
    """Nothing says that two requests mean the same slot: not the log, not the key of its job, and nobody looks."""
    with ExitStack() as held:
        _forget_identity(held)
        held.enter_context(patch.object(trigger, "find", lambda *_: None))
        yield


@contextmanager
def advanced_before_insert() -> Iterator[None]:
    """The cursor is moved in a transaction of its own, and what it has passed is written in the next one."""

    def run(self: Any) -> Any:
        items = self._plan()
        steps.reached("planned")
        self._move(items)
        with connection.cursor() as cursor:
            cursor.execute("COMMIT")
            cursor.execute("BEGIN")
        steps.reached("before_job")
        fired = self._tickets(items)
        verdicts = tickets.submit_all([ticket for _, ticket in fired], self.now)
        steps.reached("before_log")
        self._log(items, fired, verdicts)
        return self.done

    with patch.object(batch.Batch, "run", run):
        yield


@contextmanager
def now_as_planned_at() -> Iterator[None]:
    """A slot is called by the instant at which somebody came to it."""
    right = planning.plan

    def plan(timetable: Any, policies: Any, cursor: Any, now: datetime) -> Any:
        made = right(timetable, policies, cursor, now)
        instant = now.replace(microsecond=0)
        return replace(made, fires=tuple(replace(fire, planned_at=instant) for fire in made.fires[:1]))

    with patch.object(planning, "plan", plan):
        yield


@contextmanager
def lock_trusted_as_proof() -> Iterator[None]:
    """Whoever has had the turn once plans from what he remembers, and writes without asking what is there."""
    right = batch.Batch._plan
    remembered: dict[tuple[str, int], ScheduleState] = {}

    def plan(self: Any) -> Any:
        for state in self.states:
            mine = remembered.get((self.hand.by, state.pk))
            if mine is not None:
                state.last_planned_at = mine.last_planned_at
                state.fired, state.episode = mine.fired, mine.episode
        return right(self)

    def move(self: Any, items: Any) -> None:
        for each in map(self._moved, items):
            row = {name: getattr(each, name) for name in each._fields if name not in ("id", "was")}
            ScheduleState.objects.filter(pk=each.id).update(**row)
            remembered[self.hand.by, each.id] = ScheduleState(pk=each.id, **row)

    with ExitStack() as held:
        _forget_identity(held)
        held.enter_context(patch.object(log, "ahead", lambda cursors: {}))
        held.enter_context(patch.object(batch.Batch, "_plan", plan))
        held.enter_context(patch.object(batch.Batch, "_move", move))
        yield


@contextmanager
def slots_ahead_forgotten() -> Iterator[None]:
    """The planner does not ask for slots that a person has triggered by name before they came."""
    with patch.object(log, "ahead", lambda cursors: {}):
        yield


BUGS: dict[Callable[[], Any], str] = {
    no_unique_key: "decided twice",
    advanced_before_insert: "never decided",
    now_as_planned_at: "the calendar has 0 slots there",
    lock_trusted_as_proof: "decided twice",
    slots_ahead_forgotten: "",
}
"""Each with what the simulation says of it (empty: anything)."""


def _forget_identity(held: ExitStack) -> None:
    """The unique key of the log is gone, and no two jobs have one key."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX {KEY}")
    held.callback(_restore)
    held.enter_context(patch.object(tickets, "job_key", lambda *_: f"schedule:{uuid7()}"))


def _restore() -> None:
    ScheduleTriggerLog.objects.all().delete()
    key = next(each for each in ScheduleTriggerLog._meta.constraints if each.name == KEY)
    with connection.schema_editor() as editor:
        editor.add_constraint(ScheduleTriggerLog, key)
