"""From what an import found to rows: look at all of it first, then store what can be, in one transaction."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from django.db import transaction

from jobsplatform.kernel.audit import Actor
from scheduler import control, definition
from scheduler.importing.candidates import Candidate, Found, NotTaken, position
from scheduler.models import Schedule


class Verdict(StrEnum):
    """What becomes of a candidate."""

    CREATED = "created"
    UNCHANGED = "unchanged"
    UPDATED = "updated"
    DIFFERS = "differs"


@dataclass(frozen=True, slots=True)
class Outcome:
    """``difference``: columns of the standing schedule that say something else."""

    candidate: Candidate
    verdict: Verdict
    difference: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What an import would do, or has done."""

    outcomes: tuple[Outcome, ...]
    refused: tuple[NotTaken, ...]
    remarks: tuple[tuple[str, str], ...]

    def of(self, *verdicts: Verdict) -> list[Outcome]:
        """The outcomes with one of these verdicts."""
        return [outcome for outcome in self.outcomes if outcome.verdict in verdicts]


def plan(found: Found, now: datetime, *, update: bool) -> Plan:
    """The verdict on everything that was found; nothing is stored. ``update``: what differs is to be changed."""
    outcomes, refused = [], list(found.refused)
    candidates = _each_id_once(found.candidates, refused)
    standing = Schedule.objects.in_bulk([candidate.spec.id for candidate in candidates])
    for candidate in candidates:
        faults = definition.check(candidate.spec)
        if faults:
            refused.append(NotTaken(candidate.place, candidate.text, "; ".join(map(str, faults))))
            continue
        row = standing.get(candidate.spec.id)
        outcomes.append(_outcome(candidate, row, now, update=update))
    refused.sort(key=lambda each: position(each.place))
    return Plan(tuple(outcomes), tuple(refused), tuple(found.remarks))


def _each_id_once(candidates: list[Candidate], refused: list[NotTaken]) -> list[Candidate]:
    """The candidates under their ids as they are stored (composed Unicode); of two with one id the first."""
    places: dict[str, str] = {}
    kept = []
    for candidate in candidates:
        spec = replace(candidate.spec, id=unicodedata.normalize("NFC", candidate.spec.id))
        if spec.id in places:
            reason = f"Its id {spec.id!r} is that of {places[spec.id]}."
            refused.append(NotTaken(candidate.place, candidate.text, reason))
            continue
        places[spec.id] = candidate.place
        kept.append(replace(candidate, spec=spec))
    return kept


def _outcome(candidate: Candidate, row: Schedule | None, now: datetime, *, update: bool) -> Outcome:
    if row is None:
        return Outcome(candidate, Verdict.CREATED)
    if row.archived_at is not None:
        return Outcome(candidate, Verdict.DIFFERS, ("archived",))
    difference = _difference(candidate, row, now)
    if not difference:
        return Outcome(candidate, Verdict.UNCHANGED)
    return Outcome(candidate, Verdict.UPDATED if update else Verdict.DIFFERS, difference)


def _difference(candidate: Candidate, row: Schedule, now: datetime) -> tuple[str, ...]:
    """The columns that differ. The phase of an interval is that of the standing row: it is where it has been
    counted from since the first import."""
    wanted = definition.columns(replace(candidate.spec, anchor=None), now=now, standing=row)
    return tuple(name for name, value in wanted.items() if name != "id" and getattr(row, name) != value)


def carry_out(planned: Plan, *, actor: Actor, now: datetime) -> None:
    """Store it: all of what ``plan`` accepted, or nothing when the database or a rival refuses one of it."""
    with transaction.atomic():
        for outcome in planned.of(Verdict.CREATED):
            control.create(outcome.candidate.spec, actor=actor, now=now)
        for outcome in planned.of(Verdict.UPDATED):
            _update(outcome, actor=actor)


def _update(outcome: Outcome, *, actor: Actor) -> None:
    row = Schedule.objects.get(pk=outcome.candidate.spec.id)
    spec = replace(outcome.candidate.spec, anchor=None)
    control.update(row.id, spec, revision=row.revision, actor=actor)
