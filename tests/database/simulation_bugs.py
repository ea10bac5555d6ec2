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

KEYS = ("log_one_per_slot", "log_one_per_key")


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
        verdicts = self._submit(fired)
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
    begin = batch.Batch.__init__
    remembered: dict[tuple[str, int], Any] = {}

    def remember(self: Any, states: Any, now: datetime, hand: Any, **more: Any) -> None:
        begin(self, [remembered.get((hand.by, state.id), state) for state in states], now, hand, **more)

    def move(self: Any, items: Any) -> None:
        for item in items:
            each = self._moved(item)
            kept = {name: getattr(each, name) for name in ("last_planned_at", "fired", "episode")}
            ScheduleState.objects.filter(pk=each.id).update(next_due_at=each.next_due_at, **kept)
            remembered[self.hand.by, each.id] = item.state._replace(**kept)

    with ExitStack() as held:
        _forget_identity(held)
        held.enter_context(patch.object(log, "ahead", lambda cursors: {}))
        held.enter_context(patch.object(batch.Batch, "__init__", remember))
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
    """The unique keys of the log are gone, and no two jobs have one key."""
    keys = [each for each in ScheduleTriggerLog._meta.constraints if each.name in KEYS]
    assert len(keys) == len(KEYS)
    with connection.schema_editor() as editor:
        for key in keys:
            editor.remove_constraint(ScheduleTriggerLog, key)
    held.callback(_restore, keys)
    held.enter_context(patch.object(tickets, "job_key", lambda *_: f"schedule:{uuid7()}"))


def _restore(keys: list[Any]) -> None:
    ScheduleTriggerLog.objects.all().delete()
    with connection.schema_editor() as editor:
        for key in keys:
            editor.add_constraint(ScheduleTriggerLog, key)
