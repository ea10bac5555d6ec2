"""Which slots of a range a backfill runs, and why it passes the others over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from scheduler import retention
from scheduler.ledger import Decided, decided
from scheduler.log_reads import Entry, entries
from scheduler.models import Backfill, Schedule, ScheduleState
from scheduler.outcomes import UNFINISHED, Outcome
from scheduler.states import Status

REASON_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Choice:
    """A slot, whether the backfill runs it, and why (not)."""

    planned_at: datetime
    run: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Chooser:
    """Chooses by what is on record now: what was decided about a slot, and what became of its jobs.

    ``kept_since``: decisions older than this may have been removed; ``decided_until``: the schedule's cursor;
    ``own``: the origin of the backfill that asks, whose own runs do not count.
    """

    schedule_id: str
    tenant_id: str
    mode: str
    created_at: datetime
    kept_since: datetime
    decided_until: datetime | None
    own: str = ""

    @classmethod
    def of(cls, schedule: Schedule, tenant_id: str, mode: str, now: datetime, *, own: str = "") -> Chooser:
        """From the rows as they are now."""
        states = ScheduleState.objects.filter(schedule_id=schedule.id, tenant_id=tenant_id)
        cursor = states.values_list("last_planned_at", flat=True).first()
        kept_since = now - retention.kept_for(schedule.log_days)
        return cls(schedule.id, tenant_id, mode, schedule.created_at, kept_since, cursor, own)

    def choose(self, slots: Sequence[datetime]) -> list[Choice]:
        """The choice for each slot, in a few queries for all of them."""
        if self.mode == Backfill.Mode.ALL:
            return [Choice(slot, True, "every slot is wanted") for slot in slots]
        known = decided(self.schedule_id, self.tenant_id, slots)
        rows = [row for one in known.values() for row in one.fired if row.origin != self.own]
        runs: dict[datetime, list[Entry]] = {}
        for entry in entries(rows):
            if entry.row.planned_at is not None:
                runs.setdefault(entry.row.planned_at, []).append(entry)
        choose = _missing if self.mode == Backfill.Mode.MISSING else _failed
        return [
            self._unknown(slot, known[slot]) or choose(slot, known[slot], runs.get(slot, []))
            for slot in slots
        ]

    def _unknown(self, slot: datetime, known: Decided) -> Choice | None:
        """A slot of which nothing is on record although something was, or will be, decided."""
        if known.auto is not None or known.again:
            return None
        if self.created_at < slot <= self.kept_since:
            return Choice(slot, False, "decisions of that age are not kept any more")
        if self.decided_until is not None and slot > self.decided_until:
            return Choice(slot, False, "it is not decided yet: the schedule itself does that")
        return None


def _missing(slot: datetime, known: Decided, runs: Sequence[Entry]) -> Choice:
    if runs:
        last = runs[-1].row
        return Choice(slot, False, "it fired" if last is known.auto else f"it was run by {last.origin}")
    if known.auto is not None:
        row = known.auto
        return Choice(slot, True, f"{row.status}: {row.reason or row.error}"[:REASON_SHOWN])
    return Choice(slot, True, "nothing was decided about it")


def _failed(slot: datetime, known: Decided, runs: Sequence[Entry]) -> Choice:
    if not runs:
        if known.auto is None:
            return Choice(slot, False, "it did not fire")
        if known.auto.status == Status.FAILED:
            return Choice(slot, True, "it could not be made a job")
        return Choice(slot, False, f"it did not fire ({known.auto.status})")
    outcomes = {entry.outcome for entry in runs}
    if Outcome.RUN in outcomes:
        return Choice(slot, False, "its job completed")
    if outcomes & UNFINISHED:
        return Choice(slot, False, "its job has not ended")
    if Outcome.GONE in outcomes:
        return Choice(slot, False, "its job is not kept any more, and how it ended is not known")
    return Choice(slot, True, f"its job ended: {runs[-1].outcome}")
