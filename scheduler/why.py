"""Why did a slot fire, or not? One sentence for any instant, and the facts it is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from jobsplatform.kernel import clock, config, processes
from jobsplatform.kernel.errors import InvalidInput
from jobsplatform.kernel.instants import text
from jobsplatform.kernel.models import Process, Tenant
from scheduler import after_end, definition, queries, retention
from scheduler.errors import ScheduleNotFound
from scheduler.ledger import again_of, decision_of
from scheduler.log_reads import entries
from scheduler.models import Pause, Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.states import Audience, PauseScope, Status, TriggerType
from scheduler.timetables.base import Timetable
from scheduler.timetables.errors import TimetableError
from scheduler.why_answer import Answer, Verdict
from scheduler.why_text import became, covers, decided, paused

__all__ = ["Answer", "Verdict", "why"]

SECOND = timedelta(seconds=1)
TICKERS = (Process.Role.SCHEDULER, Process.Role.BEAT, Process.Role.WORKER)


def why(schedule_id: str, at: datetime, tenant_id: str = "", now: datetime | None = None) -> Answer:
    """What was, or will be, decided about the slot at ``at`` (aware), and why.

    Raises ScheduleNotFound for an id that no schedule has and nothing on record names, InvalidInput for a naive
    instant.
    """
    if at.tzinfo is None or at.utcoffset() is None:
        raise InvalidInput(f"at: expected an instant with an offset, as {at.isoformat()}Z.")
    question = _Question(schedule_id, tenant_id, at.astimezone(UTC), now or clock.now())
    return question.answer()


@dataclass
class _Question:
    schedule_id: str
    tenant_id: str
    at: datetime
    now: datetime
    chain: list[tuple[str, str]] = field(default_factory=list)

    def answer(self) -> Answer:
        row = decision_of(self.schedule_id, self.tenant_id, self.at)
        if self.schedule is None:
            return self._without_schedule(row)
        self.note("schedule", f"{self._kind()}, revision {self.schedule.revision}")
        if row is not None and self._is_of(row):
            return self._decided(row)
        if self.timetable is None:
            self.note("fault", self.fault)
            return self.say(Verdict.FAULTY, self._parked())
        if self.schedule.trigger_type == TriggerType.MANUAL:
            return self.say(
                Verdict.NOT_A_SLOT, "It has no timetable: it runs only when somebody asks for it."
            )
        if self.timetable.follows_end:
            return self._after_end()
        return self._off() or self._open()

    # -- facts ---------------------------------------------------------------------------------------

    @cached_property
    def schedule(self) -> Schedule | None:
        found = Schedule.objects.filter(id=self.schedule_id).first()
        return None if found is None else queries.with_faults(found, [self.state])

    @cached_property
    def state(self) -> ScheduleState | None:
        return ScheduleState.objects.filter(schedule_id=self.schedule_id, tenant_id=self.tenant_id).first()

    @cached_property
    def timetable(self) -> Timetable | None:
        try:
            definition.policies_of(self._known)  # a row with a policy that cannot be is faulty all the same
            return definition.timetable_of(self._known, self.tenant_id)
        except TimetableError as error:
            self._broken = str(error)
            return None

    @property
    def fault(self) -> str:
        return self._known.fault or getattr(self, "_broken", "")

    @cached_property
    def pause(self) -> Pause | None:
        found = queries.pauses_of([self.schedule_id], [self.tenant_id], self.now)
        return found.of(self.schedule_id, self.tenant_id)

    @property
    def _known(self) -> Schedule:
        assert self.schedule is not None
        return self.schedule

    def _is_slot(self) -> bool:
        assert self.timetable is not None
        return self.timetable.matches(self.at) or self._is_excluded()

    def _is_excluded(self) -> bool:
        assert self.timetable is not None
        return self.at.microsecond == 0 and bool(self.timetable.excluded(self.at - SECOND, self.at))

    def _is_of(self, row: ScheduleTriggerLog) -> bool:
        """Whether the instant is one of the row's slots. Of an earlier rule's range nobody knows, so it counts."""
        if self.at in (row.planned_at, row.planned_until) or self.timetable is None:
            return True
        return row.revision != self._known.revision or self._is_slot()

    def note(self, step: str, fact: str) -> None:
        self.chain.append((step, fact))

    def _kind(self) -> str:
        schedule = self._known
        expression = self.timetable.expression if self.timetable is not None else "a rule that cannot be read"
        return f"{schedule.trigger_type} {expression} in {schedule.timezone}"

    # -- answers -------------------------------------------------------------------------------------

    def say(self, verdict: Verdict, sentence: str, **more: Any) -> Answer:
        return Answer(
            verdict, sentence, self.schedule_id, self.tenant_id, self.at, chain=tuple(self.chain), **more
        )

    def _without_schedule(self, row: ScheduleTriggerLog | None) -> Answer:
        if row is not None:
            self.note("schedule", "it is not there any more")
            return self._decided(row)
        if not ScheduleTriggerLog.objects.filter(schedule_id=self.schedule_id).exists():
            queries.find(self.schedule_id)
            raise ScheduleNotFound(self.schedule_id)
        self.note("schedule", "it is not there any more")
        return self.say(
            Verdict.FORGOTTEN, "The schedule was removed, and nothing about this instant is on record."
        )

    def _decided(self, row: ScheduleTriggerLog) -> Answer:
        entry = entries([row])[0]
        again = tuple(entries(again_of(self.schedule_id, self.tenant_id, self.at)))
        by = f" by {row.decided_by}" if row.decided_by else ""
        self.note("decision", f"{row.status} at {text(row.triggered_at)}{by}, under revision {row.revision}")
        if row.planned_until is not None:
            self.note("range", covers(row))
        if row.reason:
            self.note("reason", row.reason)
        pause = self._pause_then() if row.status == Status.PAUSED else None
        if pause is not None:
            self.note("pause", paused(pause))
        if row.error:
            self.note("error", " ".join(row.error.split())[:500])
        sentence = decided(row, self.at, pause)
        if row.status == Status.FIRED:
            told = became(entry, self.now)
            self.note("job", told)
            sentence = f"{sentence} {told}"
        for other in again:
            self.note("again", f"{other.row.origin}: {other.row.status}, {became(other, self.now)}")
        return self.say(Verdict.DECIDED, sentence, decision=entry, again=again)

    def _pause_then(self) -> Pause | None:
        """The pause that the slot fell into."""
        rows = Pause.objects.filter(created_at__lte=self.at).exclude(lifted_at__lt=self.at).order_by("id")
        scopes = {
            (str(PauseScope.ALL), ""),
            (str(PauseScope.TENANT), self.tenant_id),
            (str(PauseScope.SCHEDULE), self.schedule_id),
        }
        targets = {"", self.tenant_id, self.schedule_id}
        return next((p for p in rows.filter(target__in=targets) if (p.scope, p.target) in scopes), None)

    def _parked(self) -> str:
        since = f" since {text(self._known.fault_at)}" if self._known.fault_at else ""
        told = f"The schedule is faulty{since} and decides nothing: {self.fault}"
        return f"{told} Its slots are decided once it is mended."

    def _off(self) -> Answer | None:
        """No slot of the present rule."""
        assert self.timetable is not None
        schedule = self._known
        before, after = self.timetable.previous(self.at), self.timetable.next(self.at)
        if self._is_slot():
            return None
        near = _near(before, after)
        if self.at <= schedule.edited_at and schedule.revision > 1:
            self.note("revision", f"edited at {text(schedule.edited_at)}")
            told = (
                f"It is no slot of the present rule, and the schedule was edited at {text(schedule.edited_at)}: "
                f"whether an earlier rule had it is not on record. {near}"
            )
            return self.say(Verdict.EARLIER_RULE, told, before=before, after=after)
        return self.say(
            Verdict.NOT_A_SLOT, f"It is not a slot of this schedule. {near}", before=before, after=after
        )

    def _after_end(self) -> Answer:
        """Of a rule whose slots follow the end of each job, only those on record and the next one are known."""
        since = after_end.base(self.schedule_id, self.tenant_id, self._cursor())
        following = None
        if since is not None:
            following = after_end.timetable(self._known, self.tenant_id, since).next(since)
        if following == self.at:
            return self._open()
        told = f"the next is {text(following)}" if following else "the next is known when its job has ended"
        sentence = f"It is not a slot on record. Its slots follow the end of its last job: {told}."
        return self.say(Verdict.NOT_A_SLOT, sentence, after=following)

    def _cursor(self) -> datetime:
        return self.state.last_planned_at if self.state is not None else self._known.created_at

    def _open(self) -> Answer:
        """A slot without a decision on record."""
        schedule, state = self._known, self.state
        if self._is_excluded():
            self.note("timetable", "an excluded date")
        foreign = self._audience()
        if foreign is not None:
            return self.say(Verdict.OTHER_AUDIENCE, foreign)
        if schedule.archived_at is not None and self.at > schedule.archived_at:
            told = (
                f"The schedule is archived since {text(schedule.archived_at)}: later slots are not decided."
            )
            return self.say(Verdict.ARCHIVED, told)
        if state is not None:
            self.note("cursor", f"slots are decided up to {text(state.last_planned_at)}")
            if self.at <= state.last_planned_at:
                return self._past(state)
        elif self.at <= schedule.created_at:
            return self._before()
        if state is not None and self.at <= schedule.edited_at and schedule.revision != state.revision:
            return self._edited()
        return self._coming()

    def _audience(self) -> str | None:
        schedule = self._known
        if schedule.audience == Audience.GLOBAL:
            if self.tenant_id:
                return f"It runs once for the whole host, not for tenant {self.tenant_id!r}: ask without a tenant."
            return None
        if not self.tenant_id:
            return "It runs for tenants, each by itself: ask for one of them."
        if schedule.audience == Audience.NAMED and self.tenant_id not in schedule.tenants:
            return f"It does not run for tenant {self.tenant_id!r}."
        known = self.state is not None or Tenant.objects.filter(tenant_id=self.tenant_id).exists()
        return None if known else f"There is no tenant {self.tenant_id!r}."

    def _past(self, state: ScheduleState) -> Answer:
        """Behind the cursor, and nothing on record."""
        schedule = self._known
        if self.at <= schedule.created_at:
            return self._before()
        if self.at <= self.now - retention.kept_for(schedule.log_days):
            return self.say(
                Verdict.FORGOTTEN, "It was decided, but decisions of that age are not kept any more."
            )
        if self.at <= schedule.edited_at and schedule.revision > 1:
            return self._edited()
        limit = definition.policies_of(schedule).max_runs
        if limit is not None and state.fired >= limit:
            return self._finished(limit)
        first = (
            ScheduleTriggerLog.objects.filter(schedule_id=self.schedule_id, tenant_id=self.tenant_id)
            .filter(planned_at__isnull=False)
            .order_by("planned_at")
            .values_list("planned_at", flat=True)
            .first()
        )
        if self.tenant_id and (first is None or self.at < first):
            since = text(first) if first else "now"
            told = f"No slot before {since} is on record for tenant {self.tenant_id!r}: it joined later."
            return self.say(Verdict.BEFORE, told)
        told = (
            "It lies behind the cursor, and no decision about it is on record: somebody moved the cursor or "
            "removed rows past us. A backfill runs it."
        )
        return self.say(Verdict.UNRECORDED, told)

    def _before(self) -> Answer:
        made = text(self._known.created_at)
        self.note("created", made)
        return self.say(
            Verdict.BEFORE, f"The schedule was made at {made}, after this slot. A backfill can run it."
        )

    def _edited(self) -> Answer:
        at = text(self._known.edited_at)
        self.note("revision", f"edited at {at}")
        told = f"The schedule was edited at {at}: by its present rule only later slots are planned."
        return self.say(Verdict.EARLIER_RULE, f"{told} A backfill can run it.")

    def _finished(self, limit: int) -> Answer:
        return self.say(
            Verdict.FINISHED, f"The schedule has had all its {limit} runs: no further slot is planned."
        )

    def _coming(self) -> Answer:
        """Ahead of the cursor."""
        schedule, state = self._known, self.state
        try:
            limit = definition.policies_of(schedule).max_runs
        except TimetableError as error:
            self._broken = str(error)
            return self.say(Verdict.FAULTY, self._parked())
        if limit is not None and state is not None and state.fired >= limit:
            return self._finished(limit)
        if schedule.fault:
            self.note("fault", schedule.fault)
        if self.pause is not None:
            self.note("pause", paused(self.pause))
        if self.at > self.now:
            return self._not_due()
        if schedule.fault:
            return self.say(Verdict.FAULTY, self._parked())
        if self.pause is not None:
            return self.say(Verdict.PAUSED, f"{paused(self.pause)} {self._resume_rule(self.pause)}")
        return self._behind()

    @staticmethod
    def _resume_rule(pause: Pause) -> str:
        if pause.resume_rule == "drop":
            return "Slots up to its end are not run."
        return "At its end the misfire policy decides about its slots."

    def _not_due(self) -> Answer:
        assert self.timetable is not None
        seconds = (self.at - self.now).total_seconds()
        told = f"It is not due yet: in {_length(seconds)}."
        if self._is_excluded():
            told += " It will not run: its date is excluded."
        elif self.state is not None and self.at in queries.skipped(self.state.skips):
            self.note("skip", "it is to be skipped")
            told += " It will be skipped: somebody asked for that."
        elif (due := self.timetable.due(self.at)) > self.at:
            told += f" Its jitter lets its job start at {text(due)}."
        if self.pause is not None:
            told += f" {paused(self.pause)}"
        if self._known.fault:
            told += f" The schedule is faulty: {self._known.fault}"
        return self.say(Verdict.NOT_DUE, told)

    def _behind(self) -> Answer:
        state = self.state
        seconds = (self.now - self.at).total_seconds()
        reached = (
            f"slots are decided up to {text(state.last_planned_at)}" if state else "it has no cursor yet"
        )
        told = f"It is due for {_length(seconds)} and not decided yet: {reached}. {self._who()}"
        return self.say(Verdict.BEHIND, told)

    def _who(self) -> str:
        live = processes.live(self.now, config.get().tasks.lease_seconds).filter(role__in=TICKERS)
        names = [
            f"{role} {name}" for role, name in live.order_by("role", "name").values_list("role", "name")[:5]
        ]
        self.note("processes", ", ".join(names) or "none alive")
        if not names:
            return "No scheduler, beat or worker is alive: start one."
        return f"The next round of {names[0]} should decide it."


def _near(before: datetime | None, after: datetime | None) -> str:
    if before is None and after is None:
        return "It has no slots at all."
    if before is None:
        return f"The first slot is {text(after)}." if after else ""
    if after is None:
        return f"The last slot was {text(before)}."
    return f"The nearest are {text(before)} and {text(after)}."


def _length(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds))) if seconds >= 60 else f"{seconds:.1f} s"
