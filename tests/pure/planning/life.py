"""A schedule's life in the planner's eyes: somebody looks now and then, and what each look decided is kept."""

from datetime import datetime
from typing import Any

from scheduler.decisions import Cursor, Decision
from scheduler.planning import plan
from scheduler.policies import Policies
from scheduler.states import Misfire
from scheduler.timetables import build
from scheduler.timetables.base import Timetable


class Life:
    """From ``created`` on; ``fired`` are the slots that ran, with the instant at which each was decided."""

    def __init__(self, timetable: Timetable, created: datetime, policies: Policies) -> None:
        self.timetable = timetable
        self.policies = policies
        self.cursor = Cursor(created)
        self.next_due: datetime | None = created
        self.fired: list[tuple[datetime, datetime]] = []
        self.others: list[Decision] = []

    def look(self, now: datetime) -> list[datetime]:
        """Rounds until nothing is due; the slots that fired."""
        fired = []
        while self.next_due is not None and self.next_due <= now:
            round_ = plan(self.timetable, self.policies, self.cursor, now)
            fired += [fire.planned_at for fire in round_.fires]
            self.others += round_.decisions
            self.cursor, self.next_due = round_.cursor, round_.next_due
        self.fired += [(slot, now) for slot in fired]
        return fired

    def restart(self) -> None:
        """Only what is stored is left: the cursor."""
        self.next_due = self.cursor.last_planned_at

    @property
    def slots(self) -> list[datetime]:
        return [slot for slot, _ in self.fired]


def cron(line: str, created: datetime, misfire: str, **more: Any) -> Life:
    config = {"cron": line} | {key: more.pop(key) for key in ("start", "end") if key in more}
    return Life(build("cron", config, "UTC"), created, Policies(Misfire(misfire), **more))


def every(seconds: int, anchor: datetime, misfire: str, **more: Any) -> Life:
    timetable = build("interval", {"every": seconds, "anchor": anchor.isoformat()}, "UTC")
    return Life(timetable, anchor, Policies(Misfire(misfire), **more))


def once(at: datetime, created: datetime, misfire: str) -> Life:
    return Life(build("date", {"at": at.isoformat()}, "UTC"), created, Policies(Misfire(misfire)))
