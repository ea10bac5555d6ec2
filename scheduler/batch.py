"""One round over some schedules, in one transaction: what is known of them, what is planned, what is written."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from jobsplatform.kernel import events
from jobsplatform.kernel.errors import ParamsInvalid, ParamsTooLarge, PlatformError, UnknownName
from jobsplatform.kernel.instants import text
from scheduler import after_end, definition, edits, failures, faults, halts, planning, steps, tickets
from scheduler.decisions import Cursor, Decision, Fire, Plan
from scheduler.models import Schedule, ScheduleState
from scheduler.policies import Policies
from scheduler.slots import Slot
from scheduler.sql import log, schedules
from scheduler.sql.states import Move, Standing, move
from scheduler.states import Status, TriggerType
from scheduler.tickets import Hand, Ticket, Verdict
from scheduler.timetables.base import Timetable
from scheduler.timetables.errors import TimetableError
from tasks import registry
from tasks.requests import TenantStates
from tasks.spec import JobHandler

logger = logging.getLogger("jobsplatform.scheduler")


SECOND = timedelta(seconds=1)


class Moved(Exception):
    """A cursor or a schedule was changed by somebody who holds no lock: the round is worth nothing."""


@dataclass(slots=True)
class Item:
    """A schedule for one tenant, in this round."""

    state: Standing
    schedule: Schedule
    cursor: Cursor
    plan: Plan | None = None  # None: nothing is decided, ``next_due`` says when to look again
    next_due: datetime | None = None
    timetable: Timetable | None = None
    handler: JobHandler | None = None
    fault: str = ""
    gate: str = ""  # why none of its slots fires
    refused: PlatformError | None = None  # why none of its slots can become a job
    fired: int = 0


@dataclass(slots=True)
class Done:
    """What a round has written."""

    slots: list[Slot] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)
    checked: int = 0
    more: bool = False

    def add(self, other: Done) -> None:
        self.slots += other.slots
        self.faults |= other.faults
        self.checked += other.checked
        self.more = self.more or other.more


class Batch:
    """The round. Call it inside ``atomic``, with the states locked."""

    def __init__(
        self, states: Sequence[Standing], now: datetime, hand: Hand, *, settle: bool, careful: bool
    ) -> None:
        self.states = states
        self.now = now
        self.hand = hand
        self.settle = settle
        self.careful = careful
        self.done = Done(checked=len(states))
        self.tenants: TenantStates = {}
        self._plans: dict[tuple[Timetable, Policies, Cursor], Plan] = {}

    def run(self) -> Done:
        """Plan, and write what was planned. Raises Moved, and what the jobs' requests raise."""
        items = self._plan()
        steps.reached("planned")
        steps.reached("before_job")
        fired = self._tickets(items)
        try:
            verdicts = self._submit(fired)
        except (ParamsInvalid, ParamsTooLarge):  # raised before anything is written
            if not any([self._refuse(item) for item in items]):
                raise
            fired = self._tickets(items)
            verdicts = self._submit(fired)
        steps.reached("before_log")
        self._log(items, fired, verdicts)
        steps.reached("before_cursor")
        self._move(items)
        self._faults(items)
        if self.done.slots:
            events.emit_all([slot.event() for slot in self.done.slots])
        return self.done

    # -- planning ---------------------------------------------------------------------------------------------------

    def _plan(self) -> list[Item]:
        found = self._schedules()
        items = []
        for state in self.states:
            schedule = found[state.schedule_id]
            items.append(Item(state, schedule, _cursor(state, schedule, self.now)))
        known = halts.read(
            {item.schedule.pk for item in items},
            {state.tenant_id for state in self.states},
            min((state.last_planned_at for state in self.states), default=self.now),
            self.now,
        )
        ahead = log.ahead(
            (item.state.schedule_id, item.state.tenant_id, item.cursor.last_planned_at) for item in items
        )
        self.tenants = tickets.tenant_states({state.tenant_id for state in self.states})
        for item in items:
            place = (item.state.schedule_id, item.state.tenant_id)
            item.gate = tickets.gate(self.tenants, item.state.tenant_id)
            dropped = known.dropped_until(*place)
            if item.schedule.archived_at is not None and not self.settle:
                continue
            if known.is_open(*place):
                if not self.settle:
                    continue
                dropped = self.now
            decided = tuple((first, last) for first, last, _ in ahead.get(place, ()))
            if dropped is not None or decided:
                item.cursor = replace(item.cursor, dropped_until=dropped, decided=decided)
            self._plan_one(item)
        return items

    def _schedules(self) -> dict[str, Schedule]:
        found = schedules.read({state.schedule_id for state in self.states})
        if edited := sorted(pk for pk, schedule in found.items() if schedule.outside):
            edits.adopt(edited, self.now)
            found |= schedules.read(edited)
            # The edit may have taken away tenants that were planned for.
            kept = ScheduleState.objects.filter(schedule_id__in=edited).values_list("id", flat=True)
            gone = {state.id for state in self.states if state.schedule_id in edited}.difference(kept)
            self.states = [state for state in self.states if state.id not in gone]
        return found

    def _plan_one(self, item: Item) -> None:
        try:
            self._plan_by(item, definition.policies_of(item.schedule))
        except Exception as error:  # whatever is wrong with one schedule stops no other
            item.fault, item.plan = faults.shown(error), None
            item.next_due = self.now + faults.LOOK_AGAIN
            if item.fault != item.schedule.fault and not isinstance(error, (PlatformError, TimetableError)):
                logger.error("schedule %s cannot be planned and is parked", item.schedule.pk, exc_info=error)
            return
        if item.plan is None or not item.plan.fires or item.schedule.pause_after_failures is None:
            return
        if failures.after_failures(item.schedule, item.state.tenant_id, self.now) is not None:
            item.plan, item.next_due = None, None

    def _plan_by(self, item: Item, policies: Policies) -> None:
        schedule, tenant_id, cursor = item.schedule, item.state.tenant_id, item.cursor
        self._look_at_job(item)
        if not after_end.concerns(schedule):
            item.timetable = definition.timetable_of(schedule, tenant_id)
            item.plan = self._planned(item.timetable, policies, cursor)
            item.next_due = item.plan.next_due
            return
        since = after_end.base(schedule.pk, tenant_id, cursor.last_planned_at)
        if since is None:
            rule = after_end.timetable(schedule, tenant_id, self.now.replace(microsecond=0))
            item.next_due = after_end.look_again(rule, self.now)
            return
        item.timetable = after_end.timetable(schedule, tenant_id, since)
        cursor = replace(cursor, last_planned_at=since)
        item.plan = planning.plan(item.timetable, after_end.policies(policies), cursor, self.now)
        item.next_due = item.plan.next_due
        if item.plan.fires and item.next_due is not None:
            item.next_due = after_end.look_again(item.timetable, self.now)

    def _planned(self, timetable: Timetable, policies: Policies, cursor: Cursor) -> Plan:
        """Schedules that are due together mostly have one rule and have come equally far: that is planned once."""
        key = (timetable, policies, cursor)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = planning.plan(timetable, policies, cursor, self.now)
        return plan

    def _look_at_job(self, item: Item) -> None:
        schedule = item.schedule
        try:
            item.handler = registry.get(schedule.app_id, schedule.job_type)
        except UnknownName as error:
            if not self.settle:
                raise
            item.refused = error
            return

    # -- firing -----------------------------------------------------------------------------------------------------

    def _submit(self, fired: Sequence[tuple[Item, Ticket]]) -> list[Verdict]:
        give = tickets.submit_each if self.careful else tickets.submit_all
        return give([ticket for _, ticket in fired], self.now, self.tenants)

    def _refuse(self, item: Item) -> bool:
        """Whether the params of a schedule fit its job type no longer: its slots fail, and spoil no others."""
        if item.handler is None or item.plan is None or not item.plan.fires:
            return False
        try:
            item.handler.schema.normalise(item.schedule.params)
        except PlatformError as error:
            item.refused = error
        return item.refused is not None

    def _tickets(self, items: Sequence[Item]) -> list[tuple[Item, Ticket]]:
        return [
            (item, self._ticket(item, fire))
            for item in items
            if item.plan is not None and not item.gate and item.refused is None
            for fire in item.plan.fires
        ]

    def _ticket(self, item: Item, fire: Fire) -> Ticket:
        assert item.timetable is not None and item.handler is not None
        interval = None
        if item.handler.spec.exclusive:
            following = item.timetable.next(fire.planned_at)
            interval = int((following - fire.planned_at).total_seconds() * 1000) if following else 0
        return Ticket(
            item.schedule,
            item.state.tenant_id,
            fire.planned_at,
            item.timetable.due(fire.planned_at),
            fire.origin,
            fire.window_start,
            interval_ms=interval,
        )

    # -- writing ----------------------------------------------------------------------------------------------------

    def _log(
        self, items: Sequence[Item], fired: Sequence[tuple[Item, Ticket]], verdicts: Sequence[Verdict]
    ) -> None:
        slots = self.done.slots
        for (item, ticket), verdict in zip(fired, verdicts, strict=True):
            slots.append(tickets.slot_of(ticket, verdict, self.now, self.hand))
            item.fired += verdict.status is Status.FIRED
        for item in items:
            if item.plan is not None:
                for decision, error in self._decisions(item, item.plan):
                    slots.append(
                        tickets.decision_of(
                            item.schedule, item.state.tenant_id, decision, self.now, self.hand, error
                        )
                    )
        log.insert(slots)

    def _decisions(self, item: Item, plan: Plan) -> list[tuple[Decision, str]]:
        told = [(decision, "") for decision in plan.decisions]
        for fire in plan.fires:
            if item.gate:
                status, reason, error = Status.SKIPPED, item.gate, ""
            elif item.refused is not None:
                status, reason, error = Status.FAILED, item.refused.code, item.refused.message
            else:
                continue
            told.append((Decision(status, reason, fire.planned_at, fire.planned_at), error))
        return told

    def _move(self, items: Sequence[Item]) -> None:
        moves = [self._moved(item) for item in items]
        if move(moves) != len(moves):
            raise Moved
        self.done.more = any(each.next_due_at is not None and each.next_due_at <= self.now for each in moves)

    def _moved(self, item: Item) -> Move:
        state, plan = item.state, item.plan
        cursor = item.cursor if plan is None else plan.cursor
        fired = item.fired > 0
        return Move(
            id=state.id,
            was=state.last_planned_at,
            revision=item.schedule.revision,
            last_planned_at=cursor.last_planned_at,
            last_fired_at=cursor.last_fired_at if fired else state.last_fired_at,
            last_triggered_at=self.now if fired else None,
            last_checked_at=self.now,
            next_due_at=self._due(item),
            next_slot_at=plan.next_slot if plan is not None else None,
            fired=state.fired + item.fired,
            episode=cursor.episode,
            skips=[text(skip) for skip in sorted(cursor.skips)],
        )

    def _due(self, item: Item) -> datetime | None:
        plan = item.plan
        if plan is not None and not (plan.fires or plan.decisions) and plan.cursor == item.cursor:
            # Whatever its timetable says: a round that decides nothing is not repeated at once, for ever.
            return max(item.next_due, self.now + SECOND) if item.next_due is not None else None
        if plan is not None and item.next_due is None and item.fired < len(plan.fires) and item.timetable:
            # Its runs are over only when as many have become jobs.
            return item.timetable.next(plan.cursor.last_planned_at)
        return item.next_due

    def _faults(self, items: Sequence[Item]) -> None:
        found = {item.schedule.pk: item.fault for item in items if item.fault}
        self.done.faults = found
        if found:
            faults.note(found, self.now)
        healed = {
            item.schedule.pk
            for item in items
            if item.plan is not None and item.schedule.fault and item.schedule.pk not in found
        }
        if healed:
            faults.heal(healed)


def _cursor(state: Standing, schedule: Schedule, now: datetime) -> Cursor:
    reached = state.last_planned_at
    # A cursor lies before the edit when it has followed a clock that was behind: slots before the edit count only
    # while the clock stands there. That of a date may have begun at a slot in the past.
    followed = schedule.trigger_type != TriggerType.DATE and schedule.edited_at <= now
    if followed or state.revision != schedule.revision:
        reached = max(reached, schedule.edited_at)  # slots up to the edit are behind it
    return Cursor(
        last_planned_at=reached,
        last_fired_at=state.last_fired_at,
        # Left out where no rule asks for it, so that those who have come equally far are equal.
        fired=state.fired if _counts(schedule) else 0,
        episode=state.episode,
        skips=frozenset(_instants(state.skips)),
    )


def _counts(schedule: Schedule) -> bool:
    config: Any = schedule.trigger_config
    return isinstance(config, dict) and "max_runs" in config


def _instants(skips: Any) -> list[datetime]:
    found = []
    for each in skips if isinstance(skips, list) else []:
        try:
            instant = datetime.fromisoformat(each)
        except (TypeError, ValueError):
            continue  # written by hand: it names no slot
        if instant.tzinfo is not None:
            found.append(instant)
    return found
