"""A nudge for whoever plans: "a schedule was edited, look now". Only a hint: a lost one costs the idle sleep.

It takes the way of the dispatchers' hints (``tasks.hints``), on a channel of its own: schedulers are not woken by
each job. Without Redis it stays in this process, and others look every ``SCHEDULER__IDLE_SLEEP_SECONDS``.
"""

from __future__ import annotations

from jobsplatform.kernel import db
from tasks import hints
from tasks.hints import Callback

CHANNEL = "jobsplatform:schedules"
EDITED = "edited"

_listeners: tuple[Callback, ...] = ()


def wake() -> None:
    """Tell every scheduler to look, once the current transaction commits.

    Never raises, and never blocks longer than 50 ms; while Redis is away it costs nothing.
    """
    db.after_commit(wake_now)


def wake_now() -> None:
    """``wake`` for a caller that knows of no open transaction."""
    for callback in _listeners:
        callback()
    hints.publish(CHANNEL, EDITED)


class Listener(hints.Listener):
    """Calls back after every nudge, from a thread of its own; once more after a gap in which some were lost."""

    name = "schedule-hints"
    channel = CHANNEL

    def _enlist(self) -> None:
        global _listeners
        _listeners = (*_listeners, self._callback)

    def _withdraw(self) -> None:
        global _listeners
        _listeners = tuple(c for c in _listeners if c is not self._callback)
