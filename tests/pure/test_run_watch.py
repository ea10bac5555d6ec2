"""Which starts and ends of runs the rows of a job tell of."""

from datetime import UTC, datetime, timedelta

from tasks.live.facts import Run
from tasks.live.runs import RunWatch
from tasks.states import State

T0 = datetime(2031, 5, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def row(
    state: State, began: float | None, sent: float | None = None, ended: float | None = None, **more
) -> Run:
    """A job's row: when its last run began, when it was dispatched last, when it ended."""
    instants = [None if when is None else at(when) for when in (sent, began, ended)]
    return Run("j", "", "x", 1, state, more.pop("reason", ""), "", *instants, **more)


def names(*rows: Run) -> list[str]:
    watch = RunWatch(T0)
    return [event["name"].removeprefix("job_run_") for each in rows for event in watch.look(each)]


PARENT = [
    row(State.RUNNING, 2, 1),
    row(State.WAITING, 2, 1),
    row(State.PENDING, 2, continuing=True, awaits_continuation=True),
    row(State.DISPATCHED, 2, 5, continuing=True, awaits_continuation=True),
    row(State.RUNNING, 6, 5, continuing=True),
    row(State.COMPLETED, 6, 5, 7, continuing=True),
]


def test_a_run_with_a_continuation_is_one_run_however_little_of_it_is_seen():
    assert names(*PARENT) == ["started", "ended"]
    for missed in range(1, len(PARENT) - 1):
        assert names(*PARENT[:missed], *PARENT[missed + 1 :]) == ["started", "ended"]
    for seen in range(1, len(PARENT)):
        assert names(*PARENT[:seen]) == ["started"]


def test_a_continuation_that_was_handed_back_is_still_on_its_way():
    back = row(State.PENDING, 2, continuing=True, reason="message could not be sent")
    assert names(*PARENT[:4], back, *PARENT[3:]) == ["started", "ended"]


def test_a_continuation_that_is_tried_again_is_another_run():
    again = row(State.PENDING, 6, continuing=True, reason="failed")
    assert names(*PARENT[:5], again, row(State.RUNNING, 9, 8, continuing=True)) == [
        "started",
        "ended",
        "started",
    ]
    assert names(*PARENT[:4], again) == ["started", "ended"]


def test_an_attempt_that_never_began_tells_nothing():
    retried = [row(State.RUNNING, 2, 1), row(State.PENDING, 2, reason="failed")]
    cancelled = row(State.CANCELLED, 2, 5, 6)
    assert names(*retried, row(State.DISPATCHED, 2, 5), cancelled) == ["started", "ended"]
    assert names(cancelled) == []
    assert names(row(State.CANCELLED, 2, None, 6)) == []
    assert names(row(State.CANCELLED, None, 1, 2)) == []


def test_a_run_that_was_cancelled_while_it_ran_has_ended():
    assert names(row(State.CANCELLED, 2, 1, 3)) == ["started", "ended"]


def test_what_began_and_ended_before_is_no_news():
    assert names(row(State.COMPLETED, -5, -6, -4)) == []
    assert names(row(State.COMPLETED, -5, -6, 1)) == ["ended"]
    assert names(row(State.PENDING, 2)) == []


def test_the_runs_that_have_not_ended_are_known():
    watch = RunWatch(T0)
    for each in PARENT[:3]:
        watch.look(each)
        assert watch.on_their_way("", "x", 5) == ["j"]
        assert watch.on_their_way("", "y", 5) == []
    watch.look(PARENT[-1])
    assert watch.on_their_way("", "x", 5) == []
