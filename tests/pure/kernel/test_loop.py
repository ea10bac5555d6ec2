"""A loop works, waits, wakes, stops, and outlives what its steps raise."""

import logging
import threading
from collections.abc import Callable, Iterator

import pytest

from jobsplatform.kernel.loop import Loop, wait_until


class Scripted(Loop):
    """Plays answers: True, False, or an error to raise; then False for ever."""

    name = "scripted"

    def __init__(self, *answers: bool | Exception, pause: float = 60.0) -> None:
        super().__init__()
        self.answers = list(answers)
        self.pause = pause
        self.rounds = 0
        self.errors: list[Exception] = []
        self.during: Callable[[], None] = lambda: None

    def step(self) -> bool:
        self.rounds += 1
        self.during()
        answer = self.answers.pop(0) if self.answers else False
        if isinstance(answer, Exception):
            raise answer
        return answer

    def wait_seconds(self) -> float:
        return self.pause

    def failed(self, error: Exception) -> None:
        self.errors.append(error)


@pytest.fixture
def started() -> Iterator[Callable[..., Scripted]]:
    loops: list[Scripted] = []

    def start(loop: Scripted) -> Scripted:
        loops.append(loop)
        loop.start()
        return loop

    yield start
    for loop in loops:
        assert loop.stop(), f"{loop.name} did not end"


def reaches(loop: Scripted, rounds: int) -> None:
    wait_until(lambda: loop.rounds >= rounds, timeout=10)


def test_work_found_means_the_next_round_follows_at_once(started: Callable[..., Scripted]) -> None:
    loop = started(Scripted(True, True, True))
    reaches(loop, 4)
    wait_until(lambda: loop.last_round is not None, timeout=10)
    assert loop.rounds == 4


def test_a_wake_ends_the_wait(started: Callable[..., Scripted]) -> None:
    loop = started(Scripted())
    reaches(loop, 1)
    loop.wake()
    reaches(loop, 2)


def test_a_wake_during_a_round_is_not_lost(started: Callable[..., Scripted]) -> None:
    loop = Scripted()
    loop.during = lambda: loop.wake() if loop.rounds == 1 else None
    started(loop)
    reaches(loop, 2)


def test_stop_ends_a_long_wait_at_once_and_may_be_repeated() -> None:
    loop = Scripted()
    loop.start()
    reaches(loop, 1)
    assert loop.alive
    assert loop.stop()
    assert loop.stop()
    assert not loop.alive


def test_stopping_a_loop_that_never_ran_is_fine() -> None:
    assert Scripted().stop()


def test_a_stopped_loop_can_start_again(started: Callable[..., Scripted]) -> None:
    loop = Scripted()
    loop.start()
    reaches(loop, 1)
    loop.stop()
    started(loop)
    reaches(loop, 2)


def test_starting_twice_is_starting_once(started: Callable[..., Scripted]) -> None:
    loop = started(Scripted())
    reaches(loop, 1)
    before = threading.active_count()
    loop.start()
    assert threading.active_count() == before


def test_a_loop_can_stop_itself() -> None:
    loop = Scripted(True, True)
    loop.during = lambda: (loop.stop(), None)[1]
    loop.run()
    assert loop.rounds == 1


def test_an_error_is_logged_once_and_the_loop_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    loop = Scripted(OSError("away"), OSError("away"), OSError("away"), True)
    with caplog.at_level(logging.INFO, logger="jobsplatform.loop"):
        pauses = [loop.round() for _ in range(4)]
    assert pauses[:3] == sorted(pauses[:3])
    assert pauses[0] > 0
    assert pauses[3] == 0
    assert len(loop.errors) == 3
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [
        "scripted failed and goes on: OSError: away",
        "scripted works again after 3 failed rounds",
    ]


def test_the_pause_after_errors_is_bounded() -> None:
    loop = Scripted(*[OSError("away")] * 50)
    assert max(loop.round() for _ in range(50)) == 5.0


def test_a_new_fault_after_a_recovery_is_logged_again(caplog: pytest.LogCaptureFixture) -> None:
    loop = Scripted(OSError("one"), True, OSError("two"))
    with caplog.at_level(logging.ERROR, logger="jobsplatform.loop"):
        for _ in range(3):
            loop.round()
    assert [record.getMessage().rsplit(" ", 1)[1] for record in caplog.records] == ["one", "two"]


def test_wait_until_gives_the_answer_back() -> None:
    answers = iter(["", "", "ready"])
    assert wait_until(lambda: next(answers), timeout=10, every=0.001) == "ready"


def test_wait_until_says_what_did_not_come() -> None:
    def the_moon_is_blue() -> bool:
        return False

    with pytest.raises(TimeoutError, match=r"the_moon_is_blue"):
        wait_until(the_moon_is_blue, timeout=0.01, every=0.001)
