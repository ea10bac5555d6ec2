"""Random edits, pauses, skips and runs against a calendar kept by hand: every slot of every rule has one decision."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from jobsplatform.kernel import clock
from jobsplatform.testing.platform import HandPlatform
from scheduler import control, pauses
from scheduler.definition import RULE, timetable_of
from scheduler.models import Schedule, ScheduleTriggerLog
from scheduler.states import ResumeRule
from scheduler.timetables.base import Timetable
from tasks.handlers import job
from tests.database.scheduler.tools import ACTOR, create, edit, tick

RULES: list[dict[str, object]] = [
    {"cron": "* * * * *"},
    {"cron": "*/3 * * * *", "timezone": "Asia/Kathmandu"},
    {"every": 40},
    {"every": 7 * 60},
    {"cron": "0 0 1 1 *"},
]
POLICIES: list[dict[str, object]] = [
    {"misfire": "skip"},
    {"misfire": "run_once"},
    {"misfire": "catch_up_limited", "misfire_limit": 2, "catch_up_window": 300},
    {"misfire": "catch_up_limited", "misfire_limit": 50, "catch_up_max": 3},
]


@dataclass
class Model:
    """What the schedule's slots have been so far."""

    jobs: HandPlatform
    chance: random.Random
    rule: Timetable | None
    since: datetime
    slots: list[datetime] = field(default_factory=list)
    paused_at: datetime | None = None
    dropped: list[tuple[datetime, datetime]] = field(default_factory=list)
    resume_rule: str = "drop"

    def close_rule(self, new: Timetable | None) -> None:
        """The rule ends now, and ``new`` begins."""
        now = clock.now()
        slot = self.rule.next(self.since) if self.rule is not None else None
        while slot is not None and self.rule is not None and slot <= now:
            self.slots.append(slot)
            slot = self.rule.next(slot)
        self.rule, self.since = new, now
        if self.paused_at is not None:  # an edit in a pause: what lay in it is told as paused
            self.dropped.append((self.paused_at, now))
            self.paused_at = now

    # -- what may happen -----------------------------------------------------------------------------

    def advance(self) -> None:
        self.jobs.advance(self.chance.choice([0.4, 5, 31, 60, 200, 900]))

    def plan(self) -> None:
        tick()

    def describe(self) -> None:
        edit(description=str(self.chance.random()), params={"n": self.chance.randrange(9)})

    def change(self) -> None:
        before = Schedule.objects.get()
        after = edit(**self.chance.choice(RULES), **self.chance.choice(POLICIES))
        if any(getattr(before, column) != getattr(after, column) for column in RULE):
            self.close_rule(timetable_of(after))

    def pause(self) -> None:
        if self.paused_at is None:
            self.resume_rule = self.chance.choice(list(ResumeRule))
            pauses.pause("schedule", "s", actor=ACTOR, resume_rule=self.resume_rule)
            self.paused_at = clock.now()

    def resume(self) -> None:
        pauses.resume("schedule", "s", actor=ACTOR)
        if self.paused_at is not None and self.resume_rule == ResumeRule.DROP:
            self.dropped.append((self.paused_at, clock.now()))
        self.paused_at = None

    def archive(self) -> None:
        control.archive("s", actor=ACTOR)
        self.close_rule(None)
        self.jobs.advance(self.chance.choice([1, 100]))
        self.close_rule(timetable_of(control.restore("s", actor=ACTOR)))

    def skip(self) -> None:
        control.skip_next("s", actor=ACTOR)

    def run_now(self) -> None:
        control.run_now("s", key=str(self.chance.random()), actor=ACTOR)


@pytest.mark.parametrize("seed", range(8))
def test_the_ledger_is_the_calendar_whatever_people_do(jobs: HandPlatform, seed: int) -> None:
    @job("tests.work")
    def work(n: int = 0) -> None: ...

    chance = random.Random(seed)
    row = create(**chance.choice(RULES), **chance.choice(POLICIES))
    model = Model(jobs, chance, timetable_of(row), clock.now())
    verbs = [model.advance] * 6 + [model.plan] * 4
    verbs += [model.describe, model.change, model.change, model.pause, model.resume, model.archive]
    verbs += [model.skip, model.run_now]
    for _ in range(40):
        chance.choice(verbs)()
    model.resume()
    jobs.advance(1)
    tick()
    model.close_rule(None)

    expected = list(model.slots)
    for entry in ScheduleTriggerLog.objects.filter(origin="auto").order_by("planned_at"):
        covered, expected = expected[: entry.slot_count], expected[entry.slot_count :]
        assert covered, f"{entry.planned_at} is no slot"
        assert (covered[0], covered[-1]) == (entry.planned_at, entry.planned_until or entry.planned_at)
        assert entry.triggered_at >= covered[-1]
        if entry.status == "fired":
            lay_in = [span for span in model.dropped if span[0] < covered[0] <= span[1]]
            assert not lay_in, f"{entry.planned_at} fired though it lay in the pause {lay_in}"
    assert expected == []


def test_the_model_can_fail(jobs: HandPlatform) -> None:
    @job("tests.work")
    def work(n: int = 0) -> None: ...

    model = Model(jobs, random.Random(0), timetable_of(create()), clock.now())
    jobs.clock.advance(timedelta(minutes=2).total_seconds())
    model.close_rule(None)
    assert len(model.slots) == 2
    assert ScheduleTriggerLog.objects.count() == 0  # nobody planned: this would be told
