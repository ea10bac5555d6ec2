"""The planner agrees with a walk over every slot, whatever timetable, policy, cursor and hour."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.decisions import Cursor, Decision, Fire
from scheduler.planning import plan
from scheduler.policies import Policies
from scheduler.states import Misfire
from tests.pure.planning.oracle import expected, in_order, on_record, told
from tests.pure.planning.timetables import Listed

START = datetime(2026, 3, 1, tzinfo=UTC)
SPAN = 60


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


seconds = st.integers(0, SPAN)
moments = st.integers(-5_000, (SPAN + 5) * 1_000).map(lambda milliseconds: at(milliseconds / 1_000))
spans = st.integers(0, 9).map(lambda whole: timedelta(seconds=whole)) | st.integers(0, SPAN * 1_000).map(
    lambda milliseconds: timedelta(milliseconds=milliseconds)
)


@st.composite
def timetables(draw: st.DrawFn) -> Listed:
    """Some seconds of a minute, or every few of them; each of its six parts may be excluded."""
    every = st.integers(1, 9).map(lambda period: set(range(0, SPAN, period)))
    slots = draw(every | st.sets(seconds, max_size=SPAN))
    out = draw(st.sets(st.integers(0, 6), max_size=4))
    return Listed(map(at, slots), [at(slot) for slot in slots if slot // 10 in out])


policies = st.builds(
    Policies,
    misfire=st.sampled_from(Misfire),
    grace=spans,
    misfire_limit=st.integers(1, 8),
    catch_up_window=spans,
    catch_up_max=st.none() | st.integers(0, 12),
    max_runs=st.none() | st.integers(1, 20),
)
cursors = st.builds(
    Cursor,
    last_planned_at=moments,
    fired=st.integers(0, 5),
    episode=st.integers(0, 5),
    skips=st.frozensets(seconds.map(at), max_size=5),
    dropped_until=st.none() | moments,
    decided=st.lists(
        st.tuples(seconds, st.integers(0, 6)).map(lambda span: (at(span[0]), at(sum(span)))), max_size=3
    ).map(tuple),
)


@settings(max_examples=400, deadline=None)
@given(timetable=timetables(), policy=policies, cursor=cursors, now=moments)
def test_one_round_is_what_a_walk_over_every_slot_says(
    timetable: Listed, policy: Policies, cursor: Cursor, now: datetime
) -> None:
    round_ = plan(timetable, policy, cursor, now)
    rows, after, more = expected(timetable, policy, cursor, now)
    assert told(round_, timetable) == rows
    marks = {"skips": frozenset(), "dropped_until": None, "decided": ()}
    reached = round_.cursor.last_planned_at
    assert replace(round_.cursor, **marks) == replace(after, last_planned_at=reached, **marks)
    for slot in [*timetable.slots, *timetable.out]:
        settled = slot <= cursor.last_planned_at or on_record(slot, cursor) or slot in dict(rows)
        assert settled or slot > reached, "the cursor has passed a slot that nobody decided"
    assert reached >= after.last_planned_at
    if more:
        assert round_.next_due == now
    for row, following in zip(in_order(round_), in_order(round_)[1:], strict=False):
        assert _end(row) < following.planned_at
        equal = (
            isinstance(row, Decision) and isinstance(following, Decision) and _word(row) == _word(following)
        )
        assert cursor.decided or not equal, "equal decisions side by side are one range"


@settings(max_examples=200, deadline=None)
@given(
    timetable=timetables(),
    policy=policies,
    start=moments,
    steps=st.lists(st.integers(-20_000, 20_000), max_size=25),
)
def test_over_any_history_of_rounds_and_clock_steps_each_slot_is_decided_once(
    timetable: Listed, policy: Policies, start: datetime, steps: list[int]
) -> None:
    cursor, now, highest = Cursor(start), start, start
    decided: list[datetime] = []
    for step in [*steps, SPAN * 2_000]:
        now += timedelta(milliseconds=step)
        highest = max(highest, now)
        for _ in range(SPAN + 2):
            round_ = plan(timetable, policy, cursor, now)
            decided += [slot for slot, _ in told(round_, timetable)]
            assert round_.cursor.last_planned_at >= cursor.last_planned_at
            cursor = round_.cursor
            if round_.next_due is None or round_.next_due > now:
                break
        else:
            raise AssertionError("the planner asks to be called again for ever")
        if now < highest:
            continue
        every = sorted(slot for slot in [*timetable.slots, *timetable.out] if start < slot <= now)
        if policy.max_runs is not None and cursor.fired == policy.max_runs:
            every = [slot for slot in every if slot <= cursor.last_planned_at]
        assert decided == every
        if round_.next_due is not None:
            ahead = [slot for slot in [*timetable.slots, *timetable.out] if slot > now]
            assert round_.next_due == min(ahead)


@settings(max_examples=200, deadline=None)
@given(timetable=timetables(), policy=policies, cursor=cursors, back=st.integers(0, 100_000))
def test_a_clock_that_went_back_decides_nothing(
    timetable: Listed, policy: Policies, cursor: Cursor, back: int
) -> None:
    now = cursor.last_planned_at - timedelta(milliseconds=back)
    round_ = plan(timetable, policy, cursor, now)
    assert (round_.fires, round_.decisions) == ((), ())
    assert round_.cursor.last_planned_at >= cursor.last_planned_at
    assert round_.next_due is None or round_.next_due > cursor.last_planned_at


def _end(row: Fire | Decision) -> datetime:
    return row.planned_at if isinstance(row, Fire) else row.planned_until


def _word(row: Decision) -> tuple[str, str]:
    return row.status, row.reason
