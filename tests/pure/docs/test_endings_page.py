"""docs/endings.md says of each ending what tasks/verdict.py does."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, get_args
from uuid import UUID

import pytest

from tasks.outcomes import Ending, Kind
from tasks.retry import Fixed
from tasks.states import BY_NAME, INTERRUPTIONS, CancelReason, Cause, State
from tasks.verdict import Family, Rules, Verdict, judge
from tests.pure.docs.pages import page, rows, section

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
RULES = Rules(backoff=Fixed(60), crash_budget=3, loss_budget=10)
CHILDREN = Family(spawned=True, open=True)

ENDINGS = {
    "completed": (Ending("completed"), Family()),
    "completed, with children": (Ending("completed"), CHILDREN),
    "failed": (Ending("failed", cause=Cause.HANDLER), Family()),
    "failed for good": (Ending("failed", cause=Cause.HANDLER, retryable=False), Family()),
    "retry": (Ending("retry", after=30.0), Family()),
    "snoozed": (Ending("snoozed", after=30.0), Family()),
    "discarded": (Ending("discarded"), Family()),
    "paused": (Ending("paused"), Family()),
    "deferred": (Ending("deferred", deadline=30.0), Family()),
    "cancelled": (Ending("cancelled", cause=Cause.CANCELLED), Family()),
    "lost": (Ending("lost", cause=Cause.CRASHED), Family()),
    "lost, with its worker": (Ending("lost", cause=Cause.CRASHED, whole_worker=True), Family()),
}
ASKED = (
    [CancelReason.NONE],
    sorted(INTERRUPTIONS),
    [CancelReason.USER, CancelReason.SUPERSEDED],
    [CancelReason.TIMEOUT],
)
TABLE = {row[0]: row[1:] for row in rows(section(page("endings.md"), "What becomes of the job"))}


@dataclass
class Row:
    """As much of a job as a verdict looks at; ``spent``: the next failure, crash or loss is the last."""

    spent: bool
    cancel_reason: str
    max_attempts: int = 3
    preempted_by: UUID | None = None
    pack: UUID | None = None
    id: Any = field(default_factory=lambda: UUID(int=1))

    @property
    def failures(self) -> int:
        return 2 if self.spent else 0

    @property
    def crashes(self) -> int:
        return 2 if self.spent else 0

    @property
    def losses(self) -> int:
        return 9 if self.spent else 0


def verdict(name: str, asked: CancelReason, *, spent: bool, rules: Rules = RULES) -> Verdict:
    ending, family = ENDINGS[name]
    return judge(Row(spent, asked), ending, rules, family, NOW)


def state(found: Verdict) -> State:
    return State(BY_NAME[found.move].target)


def test_the_table_has_every_ending_and_no_other():
    assert set(TABLE) == set(ENDINGS)
    kinds = {ending.kind for ending, _ in ENDINGS.values()}
    assert kinds | {"stale"} == set(get_args(Kind))


@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.parametrize("column", range(len(ASKED)))
def test_each_cell_is_what_the_verdict_says(name, column):
    fresh, _, last = TABLE[name][column].partition(", ")
    for asked in ASKED[column]:
        assert state(verdict(name, asked, spent=False)) == fresh
        assert state(verdict(name, asked, spent=True)) == (last or fresh)


@pytest.mark.parametrize("name", ENDINGS)
def test_what_an_ending_uses(name):
    found = verdict(name, CancelReason.NONE, spent=False)
    uses = {"lose": "a crash", "crash": "a crash"}.get(found.move, "an attempt" if found.used else "nothing")
    if found.options.get("whole_worker"):
        uses = "a loss"
    assert TABLE[name][-1] == uses


@pytest.mark.parametrize("name", ENDINGS)
def test_types_that_cancel_on_an_interruption_are_cancelled_where_others_come_back(name):
    rules = Rules(backoff=Fixed(60), cancel_on_interrupt=True)
    usual = verdict(name, CancelReason.SHUTDOWN, spent=False)
    if usual.move in ("interrupt", "lose"):
        assert state(verdict(name, CancelReason.SHUTDOWN, spent=False, rules=rules)) is State.CANCELLED
