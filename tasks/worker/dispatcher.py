"""The thread that claims jobs for this worker and sends them to it."""

from __future__ import annotations

from collections.abc import Callable

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.loop import Loop
from tasks import dispatch, registry
from tasks.heartbeat import Trust
from tasks.worker.incarnation import Incarnation
from tasks.worker.sender import Sender
from tasks.worker.watchdog import Appetite


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

    def step(self) -> bool:
        self._waits = config.get().tasks.poll_seconds
        if not self._sender.is_ready() or not self._trust.connected:
            self._waits = min(self._waits, 0.25)
            return False
        process_id = self._incarnation.id
        busy = self._busy_threads()
        view = dispatch.WorkerView(
            process_id=process_id,
            queues=tuple(self._incarnation.queues),
            keys=registry.keys(),
            concurrency=self._incarnation.concurrency,
            busy_threads=busy,
        )
        result = dispatch.round(view, lambda claimed: self._sender.send(claimed, process_id), clock.now())
        self._appetite.sent(result.resent, free=busy < view.concurrency, at=clock.monotonic())
        if not self._sender.is_ready():
            # What could not be sent was handed back: look again as soon as the broker may be asked.
            self._waits = 0.25
            return False
        return result.more

    def wait_seconds(self) -> float:
        return self._waits
