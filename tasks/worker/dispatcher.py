"""The thread that claims jobs for this worker and sends them to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

from jobsplatform.kernel import clock, config, processes
from jobsplatform.kernel.loop import Loop
from tasks import dispatch, finding, hints, registry
from tasks.dispatch import Claimed
from tasks.heartbeat import Trust
from tasks.pack import LONG_SECONDS
from tasks.worker import inflight
from tasks.worker.incarnation import Incarnation
from tasks.worker.lines import LINES
from tasks.worker.sender import Sender
from tasks.worker.watchdog import Appetite

FULL_GAP_SECONDS = 0.05
"""From a round that could start none of those that wait until the next, however many hints come, while no slot of this
worker comes free."""


class Dispatcher(Loop):
    """One ``dispatch.round`` for each hint, at least every ``TASKS__POLL_SECONDS``, again at once for more.

    It claims nothing while the heartbeat does not reach the database, while the broker takes no messages, or
    once the worker drains.
    """

    name = "dispatcher"

    def __init__(
        self,
        incarnation: Incarnation,
        trust: Trust,
        sender: Sender,
        appetite: Appetite,
        busy_threads: Callable[[], int],
    ) -> None:
        super().__init__()
        self._incarnation = incarnation
        self._trust = trust
        self._sender = sender
        self._appetite = appetite
        self._busy_threads = busy_threads
        self._waits = 0.0
        self._rests_until = 0.0
        self._freed = threading.Event()
        self._slots: list[UUID] = []  # of what was sent in this round
        LINES.listen(self.freed)

    def freed(self) -> None:
        """A slot of this worker is free, or will be soon: look now. Any thread may call."""
        self._freed.set()
        self.wake()

    def stop(self, timeout: float | None = 10.0) -> bool:
        self._freed.set()
        return super().stop(timeout)

    def step(self) -> bool:
        self._waits = config.get().tasks.poll_seconds
        if not self._sender.is_ready() or not self._trust.connected:
            self._waits = min(self._waits, 0.25)
            return False
        freed = self._rest()
        process_id = self._incarnation.id
        if finding.has_noticed() and finding.learn():
            processes.beat(process_id, clock.now(), handlers=sorted(registry.own_keys()))
        self._keep_lines()
        busy = self._busy_threads()
        view = dispatch.WorkerView(
            process_id=process_id,
            queues=tuple(self._incarnation.queues),
            keys=registry.own_keys(),
            concurrency=self._incarnation.concurrency,
            busy_threads=busy,
            lines=LINES.short(),
            turning=LINES.turning(),
        )
        result = dispatch.round(
            view, lambda claimed: self._send(claimed, process_id), clock.now(), self._together
        )
        if result.waiting and not result.claimed:
            self._rests_until = clock.monotonic() + FULL_GAP_SECONDS
            if freed:
                hints.wake_now()  # what came free here is of use to another worker alone
        self._appetite.sent(result.resent, free=busy < view.concurrency, at=clock.monotonic())
        if not self._sender.is_ready():
            # What could not be sent was handed back: look again as soon as the broker may be asked.
            self._waits = 0.25
            return False
        return result.more or finding.has_noticed()

    def _rest(self) -> bool:
        """While there is no room, the many hints of a busy platform do not cause one vain round after the other.
        Whether a slot of this worker came free since the last round."""
        left = self._rests_until - clock.monotonic()
        if left > 0:
            self._freed.wait(left)
        freed = self._freed.is_set()
        self._freed.clear()
        return freed

    def _send(self, claimed: Claimed, process_id: UUID) -> None:
        if claimed.slot is None:
            self._sender.send(claimed, process_id)
            return
        LINES.sent(claimed.slot, claimed.queue)
        self._slots.append(claimed.slot)
        try:
            self._sender.send(claimed, process_id)
        except BaseException:
            self._slots.remove(claimed.slot)
            LINES.unsent(claimed.slot)
            raise

    @contextmanager
    def _together(self) -> Iterator[None]:
        self._slots = []
        try:
            with self._sender.together():
                yield
        except BaseException:
            for slot in self._slots:
                LINES.unsent(slot)
            raise

    def _keep_lines(self) -> None:
        """Nobody waits behind a run that turns out long, nor for one that ended without a word."""
        at = clock.monotonic()
        for slot in LINES.slow(at - LONG_SECONDS):
            dispatch.hand_back_line(slot, clock.now())
            LINES.drop(slot)
        LINES.heal(lambda: set(inflight.held()) | set(inflight.active().values()), at)

    def wait_seconds(self) -> float:
        # Somebody may be waiting behind a run that turns out long.
        return min(self._waits, LONG_SECONDS) if LINES.turning() else self._waits
