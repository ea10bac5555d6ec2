"""What each ending of a run becomes: the whole table, said once more by hand, and its laws."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.outcomes import Ending, Kind
from tasks.retry import Fixed
from tasks.states import BY_NAME, INTERRUPTIONS, CancelReason, Cause, Hold, State
from tasks.verdict import Family, Rules, Verdict, judge

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
BACKOFF = 7.0
RULES = Rules(backoff=Fixed(BACKOFF), crash_budget=3, loss_budget=5)
CANCELLING = Rules(backoff=Fixed(BACKOFF), crash_budget=3, loss_budget=5, cancel_on_interrupt=True)


@dataclass
class Row:
    """As much of a job as a verdict looks at."""

    failures: int = 0
    max_attempts: int = 3
    crashes: int = 0
    losses: int = 0
    cancel_reason: str = ""
    preempted_by: UUID | None = None
    pack: UUID | None = None
    id: UUID = field(default_factory=lambda: UUID(int=1))


ENDINGS = {
    "completed": Ending("completed", result={"n": 1}),
    "failed": Ending("failed", cause=Cause.HANDLER, error_type="ValueError", error="no"),
    "panicked": Ending("failed", cause=Cause.PANICKED, error_type="MemoryError", error="no"),
    "timeout": Ending("failed", cause=Cause.TIMEOUT, error="ran past its time limit"),
    "hopeless": Ending("failed", cause=Cause.HANDLER, error="never", retryable=False),
    "retry": Ending("retry", after=30.0, reason="later"),
    "snoozed": Ending("snoozed", after=40.0),
    "discarded": Ending("discarded", reason="not wanted"),
    "paused": Ending("paused", reason="quota"),
    "deferred": Ending("deferred", deadline=60.0),
    "cancelled": Ending("cancelled", cause=Cause.CANCELLED),
    "lost": Ending("lost", cause=Cause.CRASHED),
    "lost with its worker": Ending("lost", cause=Cause.CRASHED, whole_worker=True),
}
_FAILURE, _LOSS = "failure", "loss"  # decided by the budgets
NOBODY = [CancelReason.NONE]
GIVE_WAY = [CancelReason.PREEMPTED, CancelReason.SUSPENDED, CancelReason.SHUTDOWN]
END = [CancelReason.USER, CancelReason.SUPERSEDED]
LATE = [CancelReason.TIMEOUT]

# ending: (not asked, asked to give way, too late, asked to end)
TABLE: dict[str, tuple[str, str, str, str]] = {
    "completed": ("complete", "interrupt", _FAILURE, "stop"),
    "failed": (_FAILURE, _FAILURE, _FAILURE, "stop"),
    "panicked": (_FAILURE, _FAILURE, _FAILURE, "stop"),
    "timeout": (_FAILURE, _FAILURE, _FAILURE, "stop"),
    "hopeless": ("fail", "fail", _FAILURE, "stop"),
    "retry": (_FAILURE, _FAILURE, _FAILURE, "stop"),
    "snoozed": ("snooze", "snooze", _FAILURE, "stop"),
    "discarded": ("stop", "stop", _FAILURE, "stop"),
    "paused": ("pause", "pause", _FAILURE, "stop"),
    "deferred": ("wait", "interrupt", _FAILURE, "stop"),
    "cancelled": ("stop", "interrupt", _FAILURE, "stop"),
    "lost": (_LOSS, _LOSS, _LOSS, "stop"),
    "lost with its worker": (_LOSS, _LOSS, _LOSS, "stop"),
}
COLUMNS = {r: n for n, group in enumerate((NOBODY, GIVE_WAY, LATE, END)) for r in group}


def expected(name: str, asked: CancelReason, row: Row, cancelling: bool) -> str:
    move = TABLE[name][COLUMNS[asked]]
    if cancelling and asked in GIVE_WAY and (move == "interrupt" or move == _LOSS):
        return "stop"
    if move == _FAILURE:
        return "fail" if row.failures + 1 == row.max_attempts else "retry"
    if move == _LOSS:
        spent = row.crashes + 1 == 3 if name == "lost" else row.losses + 1 == 5
        return "crash" if spent else "lose"
    return move


CASES = list(product(TABLE, CancelReason, [False, True]))


@pytest.mark.parametrize(("name", "asked", "cancelling"), CASES)
def test_each_ending_becomes_what_the_table_says(name: str, asked: CancelReason, cancelling: bool) -> None:
    rules = CANCELLING if cancelling else RULES
    for failures, crashes, losses in product(range(3), range(3), range(5)):
        row = Row(failures, 3, crashes, losses, str(asked))
        verdict = judge(row, ENDINGS[name], rules, Family(), NOW)
        assert verdict.move == expected(name, asked, row, cancelling), row


def test_the_table_is_whole() -> None:
    assert set(COLUMNS) == set(CancelReason)
    assert {ending.kind for ending in ENDINGS.values()} == _kinds()
    assert set(TABLE) == set(ENDINGS)


def _kinds() -> set[str]:
    """Every kind of ending but ``stale``, which nobody writes down."""
    return set(get_args(Kind)) - {"stale"}


# -- what comes with the move ------------------------------------------------------------------------


def verdict_of(name: str, family: Family | None = None, **columns: Any) -> Verdict:
    return judge(Row(**columns), ENDINGS[name], RULES, family or Family(), NOW)


@pytest.mark.parametrize(
    "family", [Family(spawned=True), Family(spawned=True, open=True), Family(spawned=False, open=True)]
)
def test_a_parent_waits_for_its_children(family: Family) -> None:
    verdict = verdict_of("completed", family)
    assert (verdict.move, verdict.outcome) == ("wait", "waiting")
    assert verdict.options == {"open_end": False, "deadline": None}
    assert verdict.facts["result"] == {"n": 1}


def test_a_deferred_end_has_its_deadline() -> None:
    assert verdict_of("deferred").options == {"open_end": True, "deadline": NOW + timedelta(seconds=60)}


def test_a_failure_waits_for_its_backoff_and_a_retry_for_what_it_asked() -> None:
    assert verdict_of("failed").due_at == NOW + timedelta(seconds=BACKOFF)
    assert verdict_of("retry").due_at == NOW + timedelta(seconds=30)
    assert verdict_of("snoozed").due_at == NOW + timedelta(seconds=40)


def test_a_pause_ends_by_backoff_only_where_it_may() -> None:
    by_hand = judge(Row(), Ending("paused", retryable=False), RULES, Family(), NOW)
    by_itself = judge(Row(), Ending("paused", retryable=True), RULES, Family(), NOW)
    asked_for = judge(Row(), Ending("paused", retryable=True, after=90), RULES, Family(), NOW)
    assert by_hand.due_at is None
    assert by_itself.due_at == NOW + timedelta(seconds=BACKOFF)
    assert asked_for.due_at == NOW + timedelta(seconds=90)


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("failed", Cause.HANDLER),
        ("panicked", Cause.PANICKED),
        ("timeout", Cause.TIMEOUT),
        ("retry", Cause.HANDLER),
    ],
)
def test_a_failure_keeps_its_cause(name: str, cause: Cause) -> None:
    for failures in (0, 2):
        assert verdict_of(name, failures=failures).facts["cause"] == cause


@pytest.mark.parametrize("name", TABLE)
def test_a_run_told_that_it_was_too_long_is_a_timeout(name: str) -> None:
    verdict = verdict_of(name, cancel_reason="timeout")
    if name.startswith("lost"):
        assert verdict.outcome == "lost"
    else:
        assert verdict.facts["cause"] == Cause.TIMEOUT
        assert verdict.due_at == NOW + timedelta(seconds=BACKOFF)


def test_one_that_gave_way_waits_for_its_preemptor() -> None:
    by = UUID(int=9)
    gave_way = judge(
        Row(cancel_reason="preempted", preempted_by=by), Ending("cancelled"), RULES, Family(), NOW
    )
    assert (gave_way.options["hold"], gave_way.facts["preempted_by"]) == (Hold.PREEMPTED, by)
    by_hand = judge(Row(cancel_reason="preempted"), Ending("cancelled"), RULES, Family(), NOW)
    assert by_hand.options["hold"] == Hold.NONE


@pytest.mark.parametrize("seen", CancelReason)
def test_a_cancel_that_only_the_process_knew_of(seen: CancelReason) -> None:
    """A drain asks the runs of its own process; the row says nothing."""
    verdict = judge(Row(), Ending("cancelled", reason=str(seen)), RULES, Family(), NOW)
    if seen in GIVE_WAY:
        assert verdict.move == "interrupt"
    elif seen is CancelReason.TIMEOUT:
        assert (verdict.move, verdict.facts["cause"]) == ("retry", Cause.TIMEOUT)
    else:
        assert verdict.move == "stop"


def test_the_row_outranks_what_the_process_saw() -> None:
    shutdown = Ending("cancelled", reason="shutdown")
    assert judge(Row(cancel_reason="user"), shutdown, RULES, Family(), NOW).move == "stop"


# -- laws --------------------------------------------------------------------------------------------

_seconds = st.none() | st.floats(0, 10_000)
rows = st.builds(
    Row,
    failures=st.integers(0, 4),
    max_attempts=st.integers(5, 6),
    crashes=st.integers(0, 6),
    losses=st.integers(0, 6),
    cancel_reason=st.sampled_from([str(r) for r in CancelReason]),
    preempted_by=st.none() | st.uuids(),
)
endings = st.builds(
    Ending,
    kind=st.sampled_from(sorted(_kinds())),
    result=st.none() | st.integers(),
    cause=st.sampled_from([c for c in Cause if c is not Cause.CANCELLED]),
    error=st.text(max_size=5),
    reason=st.sampled_from(["", "user", "superseded", "preempted", "suspended", "shutdown", "timeout"]),
    after=_seconds,
    deadline=_seconds,
    retryable=st.booleans(),
    whole_worker=st.booleans(),
    progress=st.none() | st.tuples(st.floats(0, 9), st.none(), st.just("x")),
)
rules = st.sampled_from([RULES, CANCELLING])
families = st.builds(Family, spawned=st.booleans(), open=st.booleans())


@given(rows, endings, rules, families)
def test_every_verdict_is_a_legal_move_out_of_a_run(
    row: Row, ending: Ending, r: Rules, family: Family
) -> None:
    verdict = judge(row, ending, r, family, NOW)
    assert State.RUNNING in BY_NAME[verdict.move].sources
    assert verdict.move not in ("retry", "snooze") or verdict.due_at is not None
    assert judge(row, ending, r, family, NOW) == verdict


@given(rows, endings, rules, families)
def test_a_users_cancel_always_ends_cancelled(row: Row, ending: Ending, r: Rules, family: Family) -> None:
    row.cancel_reason = "user"
    assert BY_NAME[judge(row, ending, r, family, NOW).move].target is State.CANCELLED


@given(rows, endings, rules, families)
def test_nothing_completes_or_waits_once_asked_to_stop(
    row: Row, ending: Ending, r: Rules, family: Family
) -> None:
    if row.cancel_reason:
        assert judge(row, ending, r, family, NOW).move not in ("complete", "wait")


@given(rows, endings, rules, families)
def test_attempts_are_used_by_failures_alone_and_never_pass_the_most(
    row: Row, ending: Ending, r: Rules, family: Family
) -> None:
    verdict = judge(row, ending, r, family, NOW)
    assert verdict.used == (verdict.move in ("retry", "fail"))
    assert verdict.move != "fail" or verdict.options["used"]
    if verdict.used:
        assert row.failures + 1 <= row.max_attempts
    if verdict.move == "retry":
        assert row.failures + 1 < row.max_attempts
    if row.cancel_reason in INTERRUPTIONS and ending.kind in ("completed", "cancelled", "deferred"):
        assert not verdict.used


@given(rows, endings, rules, families)
def test_every_failure_has_a_cause(row: Row, ending: Ending, r: Rules, family: Family) -> None:
    verdict = judge(row, ending, r, family, NOW)
    if verdict.move == "fail":
        assert verdict.facts["cause"] not in (Cause.NONE, Cause.CANCELLED)


@given(rows, endings, rules, families)
def test_a_run_that_died_is_never_charged_an_attempt(
    row: Row, ending: Ending, r: Rules, family: Family
) -> None:
    if ending.kind == "lost":
        assert judge(row, ending, r, family, NOW).move in ("lose", "crash", "stop")


@given(rows, endings, rules, families)
def test_the_last_progress_is_never_lost(row: Row, ending: Ending, r: Rules, family: Family) -> None:
    if ending.progress is not None:
        facts = judge(row, ending, r, family, NOW).facts
        assert (facts["progress_done"], facts["progress_total"], facts["progress_label"]) == ending.progress


def test_nobody_is_charged_for_a_pack_that_died() -> None:
    for whole_worker in (False, True):
        lost = judge(
            Row(crashes=99, losses=99, pack=UUID(int=7)),
            Ending("lost", whole_worker=whole_worker),
            RULES,
            Family(),
            NOW,
        )
        assert (lost.move, lost.outcome, lost.facts["solo"]) == ("interrupt", "lost", True)
