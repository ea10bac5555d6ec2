"""Requests that wait for a hint on the event loop: no thread is held while they do.

One thread looks for all who wait: after a hint it asks once which of their jobs there are, and wakes as many as have
something to fetch, those who have waited longest first. So a fresh job reaches its sidecar in milliseconds, and a hint
that concerns nobody here wakes nobody.
"""

from __future__ import annotations

import asyncio
import os
import threading
from dataclasses import dataclass, field

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.loop import Loop
from tasks import dispatch, hints
from tasks.bus.calls import Lane
from tasks.bus.keeper import Keeper
from tasks.sql import claim as sql

GAP_SECONDS = 0.004
"""Between two looks, however many hints come."""

REST_SECONDS = 0.05
"""Who was woken in vain (a limit is reached, another was faster) is not woken again sooner."""


@dataclass(eq=False)
class Place:
    """A request that waits. ``event`` is set when it should look; ``lanes``: for what, empty for any hint."""

    loop: asyncio.AbstractEventLoop
    lanes: frozenset[Lane]
    event: asyncio.Event = field(default_factory=asyncio.Event)
    rests_until: float = 0.0

    def rest(self) -> None:
        """It has looked and found nothing."""
        self.event.clear()
        self.rests_until = clock.monotonic() + REST_SECONDS

    def call(self) -> None:
        """Let it look; any thread may call."""
        self.rests_until = clock.monotonic() + REST_SECONDS
        try:
            self.loop.call_soon_threadsafe(self.event.set)
        except RuntimeError:
            self.rests_until = float("inf")  # its loop has ended in this moment


class Bell(Loop):
    """Wakes those who wait in this process when there is something for them."""

    name = "bus-bell"

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[Place, None] = {}
        self._changing = threading.Lock()
        self._listener = hints.Listener(self.wake)
        self._soon = False

    def start(self) -> None:
        self._listener.start()
        super().start()

    def stop(self, timeout: float | None = 10.0) -> bool:
        self._listener.stop(timeout)
        return super().stop(timeout)

    def enlist(self, lanes: frozenset[Lane] = frozenset()) -> Place:
        """Wait from now on. What came before is looked for at once."""
        place = Place(asyncio.get_running_loop(), lanes)
        with self._changing:
            self._places[place] = None
        self.wake()
        return place

    def withdraw(self, place: Place) -> None:
        """Wait no more."""
        with self._changing:
            self._places.pop(place, None)

    def waiting(self) -> list[Place]:
        """Those who wait, the longest first."""
        with self._changing:
            return list(self._places)

    def step(self) -> bool:
        self._soon = False
        places = self.waiting()
        if not places:
            return False
        self._stopping.wait(GAP_SECONDS)
        dispatch.come_due(clock.now())
        wanted = sorted({lane for place in places for lane in place.lanes})
        found = sql.open_lanes(wanted, most=len(places)) if wanted else {}
        at = clock.monotonic()
        for place in places:
            if place.lanes and not any(found.get(lane) for lane in place.lanes):
                continue
            if place.rests_until > at:
                self._soon = True
                continue
            for lane in place.lanes:
                if found.get(lane):
                    found[lane] -= 1
                    break
            place.call()
        return False

    def wait_seconds(self) -> float:
        return REST_SECONDS if self._soon else look_seconds()


def look_seconds() -> float:
    """Who waits looks at least this often, which is also the heartbeat of a sidecar that waits."""
    tasks = config.get().tasks
    return min(tasks.poll_seconds, tasks.heartbeat_seconds)


_bell: tuple[int, Bell] | None = None
_making = threading.Lock()


def bell() -> Bell:
    """The bell of this process; made, with what keeps the table true beside it, when first asked for."""
    global _bell
    with _making:
        if _bell is None or _bell[0] != os.getpid():
            made = Bell()
            made.start()
            Keeper().start()
            _bell = (os.getpid(), made)
        return _bell[1]
