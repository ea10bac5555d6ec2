"""Run a pack: many short jobs from one message, started and finished in parts.

Each job is a run of its own: its own lease, context, ending, attempt and events. Shared are the message and the
statements. Whatever is not a plain completed end goes through ``finish`` like any other.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from uuid import UUID

from jobsplatform.kernel import clock, events
from jobsplatform.kernel.loop import Loop
from tasks import finding, finish_many, pace, packing, run, transitions
from tasks.finish_many import Done
from tasks.lazy_port import LazyPort
from tasks.models import Job
from tasks.spec import JobHandler
from tasks.sql.writes import Part

LONG_SECONDS = 1.0
"""A run of a pack that takes longer is no short run: those behind it are given back. So are those of a pack that works
much longer than it was made for: the slot may be wanted by somebody more urgent."""


class PackRun:
    """One message's work. The calling thread runs handlers; the keeper's thread writes for it when one takes long."""

    def __init__(self, pack: UUID, worker_id: UUID, make_port: run.PortFactory) -> None:
        self.pack, self.worker_id, self._make_port = pack, worker_id, make_port
        self._changing = threading.Lock()  # the lists
        self._writing = threading.Lock()  # one writer at a time
        self._done: list[Done] = []
        self._ready: deque[Job] = deque()
        self._untold: list[object] = []  # events of what is written
        self._given_up = False
        self._late = False
        self._made_at = clock.monotonic()
        self._began_at: float | None = None  # of the handler that runs now
        self._oldest_at: float | None = None  # the first end that is not written yet

    def run(self) -> int:
        """Run what the pack still holds; how many runs that were. Nothing of another worker, or of an old message."""
        try:
            return self._run()
        finally:
            self._tell()

    def _run(self) -> int:
        count, most = 0, 1
        while not (self._given_up or self._late):
            part = run.persist(lambda: self._turn(most), f"the ends of pack {self.pack}")  # noqa: B023
            if not part:
                break
            began = clock.monotonic()
            count += self._run_part(part)
            mean = (clock.monotonic() - began) / len(part)
            most = packing.part(mean)
            if mean > packing.SHORT_SECONDS:
                run.persist(self._give_back, f"what pack {self.pack} has not started")
        run.persist(self.flush, f"the ends of pack {self.pack}")
        pace.write_noted()
        return count

    def _turn(self, most: int) -> list[Job]:
        """Write what is done and start the next part, in one transaction."""
        with self._writing:
            done = self._take()
            try:
                following = Part(self.pack, self.worker_id, most)
                part, left, told = finish_many.turn(done, following, clock.now(), self._tell)
            except BaseException:
                self._put_back(done)
                raise
        self._untold = told
        self._end_singly(left)
        if part:
            run.tell_starts(part)
        return part

    def _tell(self) -> None:
        """Tell what the turn before this one has written: the database works meanwhile."""
        with self._changing:
            told, self._untold = self._untold, []
        events.deliver_all(told)

    def _run_part(self, part: list[Job]) -> int:
        handler = finding.find(part[0].app_id, part[0].job_type)
        if handler is None:  # the dispatcher of this very process knew it
            raise RuntimeError(f"handler {part[0].handler_key} is gone")
        with self._changing:
            self._ready.extend(part)
        count = 0
        while (job := self._pop()) is not None:
            count += 1
            self._run_one(handler, job)
        self._began_at = None
        return count

    def _pop(self) -> Job | None:
        with self._changing:
            self._began_at = clock.monotonic()
            return self._ready.popleft() if self._ready else None

    def _run_one(self, handler: JobHandler, job: Job) -> None:
        port = LazyPort(lambda: self._make_port(job, handler))
        job.started_at = clock.now()
        ending = run.perform(job, handler, port)
        job.spawned |= port.spawned
        if finish_many.is_plain(job, ending):
            with self._changing:
                self._done.append(Done(job, ending, clock.now()))
                self._oldest_at = self._oldest_at or clock.monotonic()
        else:
            run.end(job, ending)

    def _take(self) -> list[Done]:
        with self._changing:
            done, self._done, self._oldest_at = self._done, [], None
            return done

    def _put_back(self, done: list[Done]) -> None:
        with self._changing:
            self._done = done + self._done
            self._oldest_at = clock.monotonic() if self._done else None

    def flush(self) -> None:
        """Write what is done."""
        with self._writing:
            done = self._take()
            try:
                left = finish_many.complete_many(done)
            except BaseException:
                self._put_back(done)
                raise
        self._end_singly(left)

    def _end_singly(self, left: list[Done]) -> None:
        # Asked to stop meanwhile, or no longer ours: the one door decides.
        for one in left:
            run.end(one.job, one.ending)

    # -- the keeper's side -------------------------------------------------------------------------------

    def keep(self) -> None:
        """Beside the run: what is done is not written late, and nobody waits behind a run that turns out long."""
        at, oldest, began = clock.monotonic(), self._oldest_at, self._began_at
        if oldest is not None and at - oldest >= 2 * packing.PART_SECONDS:
            self.flush()
        if began is not None and at - began >= 2 * packing.PART_SECONDS:
            self._tell()
        if began is not None and at - began >= LONG_SECONDS and not self._given_up:
            self._give_up_rest()
        elif not self._late and at - self._made_at >= 2 * packing.PACK_SECONDS:
            self._give_back()

    def _give_back(self) -> None:
        """The runs are longer than thought. What has started, a part at most, is run to its end."""
        self._late = True
        reason = "its pack took longer than thought"
        transitions.hand_back_pack(self.pack, reason, clock.now(), solo=False)

    def _give_up_rest(self) -> None:
        with self._changing:
            self._given_up = True
            rest = list(self._ready)
            self._ready.clear()
        now = clock.now()
        for job in rest:
            transitions.interrupt(job.id, job.lease, now, reason="behind a long run", solo=True)
        transitions.hand_back_pack(self.pack, "behind a long run", now)


class Keeper(Loop):
    """The thread beside the packs of this process."""

    name = "pack-keeper"

    def __init__(self) -> None:
        super().__init__()
        self._packs: frozenset[PackRun] = frozenset()

    def wait_seconds(self) -> float:
        return packing.PART_SECONDS if self._packs else 60.0

    def step(self) -> bool:
        for pack in self._packs:
            pack.keep()
        return False

    def beside(self, pack: PackRun) -> int:
        """Run ``pack`` with this thread beside it; how many runs that were."""
        self._packs |= {pack}
        self.start()
        self.wake()
        try:
            return pack.run()
        finally:
            self._packs -= {pack}


_keepers: dict[int, Keeper] = {}


def run_pack(pack: UUID, worker_id: UUID, *, can_kill: bool) -> int:
    """Do the jobs of a pack that this worker was sent; how many ran. 0 for a second delivery or a forged message."""
    keeper = _keepers.setdefault(os.getpid(), Keeper())
    return keeper.beside(PackRun(pack, worker_id, run.port_factory(can_kill)))
