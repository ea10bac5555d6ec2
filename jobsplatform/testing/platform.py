"""The platform, cranked by hand: the real code and the real database, but nothing happens by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from jobsplatform.kernel import clock, config, events, processes
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.errors import UnknownName
from jobsplatform.kernel.models import Process
from jobsplatform.testing import assertions
from jobsplatform.testing.crash import POINTS, CrashingPort, Killed, Point
from jobsplatform.testing.schedules import Schedules
from tasks import dispatch, finish, prune, queries, registry, reporter, rescue, run, submit
from tasks.context import RunPort
from tasks.dispatch import Claimed, WorkerView
from tasks.models import Job
from tasks.outcomes import Ending
from tasks.pack import PackRun
from tasks.spec import JobHandler
from tasks.states import State

ACTOR = Actor("tester", "user")


def every_queue() -> tuple[str, ...]:
    """The queues that handlers declare or jobs wait in."""
    declared = {handler.spec.queue for handler in registry.all()}
    waited_in = set(Job.objects.filter(state=State.PENDING).values_list("queue", flat=True))
    return tuple(sorted({"default"} | declared | waited_in))


class Worker:
    """One worker of the hand platform. ``sent``: what it was sent and has not run yet."""

    def __init__(
        self,
        platform: HandPlatform,
        process: Process,
        queues: tuple[str, ...] | None,
        view_keys: frozenset[str] | None,
    ) -> None:
        self._platform = platform
        self.process = process
        self.queues = queues
        self.keys = view_keys
        self.sent: list[Claimed] = []
        self.send: Callable[[Claimed], None] = self.sent.append

    @property
    def id(self) -> UUID:
        """Its incarnation."""
        return self.process.id

    @property
    def view(self) -> WorkerView:
        """What its dispatcher says of it."""
        keys = registry.own_keys() if self.keys is None else self.keys
        return WorkerView(
            self.id, tuple(self.process.queues), keys, self.process.concurrency, self.process.busy_threads
        )

    def _serve_new_queues(self) -> None:
        """A worker of all queues also serves those that came up since it began."""
        if self.queues is None and set(now := every_queue()) - set(self.process.queues):
            self.process.queues = list(now)
            Process.objects.filter(pk=self.id).update(queues=self.process.queues)

    def dispatch(self) -> list[Claimed]:
        """Dispatch rounds until one finds nothing more; what they sent."""
        before = len(self.sent)
        self._serve_new_queues()
        while dispatch.round(self.view, self.send, clock.now()).more:
            pass
        return self.sent[before:]

    def run(self, claimed: Claimed | None = None) -> Ending | None:
        """Run one message (the oldest one sent): how its job ended; None when nothing ran, and for a pack."""
        message = claimed or self.sent[0]
        if message in self.sent:
            self.sent.remove(message)
        if message.pack is not None:
            PackRun(message.pack, self.id, self._platform.make_port).run()
            return None
        return run.run(message.job_id, message.lease, worker_id=self.id, make_port=self._platform.make_port)

    def crash(
        self, at: Point = "end", nth: int = 1, *, whole_worker: bool = False, claimed: Claimed | None = None
    ) -> Job:
        """Run one message (the oldest one sent) until its process dies in the ``nth`` call of ``at``: the job.

        ``at``: start (before the handler), check_cancel, progress, checkpoint, merge or spawn (that call was the
        last), end (the handler is done, its end is not recorded). The worker notices at once and the job is
        lost; with ``whole_worker`` nobody is left to notice (see ``die``), until a rescue. Fails when the run
        ends without having come there.
        """
        if at not in POINTS:
            raise UnknownName("point of a crash", at, POINTS)
        message = claimed or self.sent[0]
        try:
            self._run_until_killed(message, at, nth)
        except Killed:
            if whole_worker:
                self.die()
            else:
                self._platform.kill_child(message.job_id)
            return self._platform.job(message.job_id)
        raise AssertionError(f"the run ended without a call {nth} of {at}; nothing crashed")

    def _run_until_killed(self, message: Claimed, at: str, nth: int) -> None:
        ordinary = self._platform.make_port

        def crashing(job: Job, handler: JobHandler) -> RunPort:
            if at == "start":
                raise Killed
            return CrashingPort(ordinary(job, handler), at, nth)

        self._platform.make_port = crashing
        try:
            self.run(message)
        finally:
            self._platform.make_port = ordinary

    def work(self, most: int = 1000) -> int:
        """Dispatch and run until there is nothing to start; how many runs that were."""
        done = 0
        while done < most and (self.sent or self.dispatch()):
            self.run()
            done += 1
        return done

    def beat(self) -> bool:
        """A heartbeat."""
        return processes.beat(self.id, clock.now())

    def die(self) -> None:
        """As by SIGKILL: it never beats again, its messages are gone, its running jobs stay as they are."""
        self.sent.clear()
        self._platform.workers.remove(self)


class HandPlatform(Schedules):
    """The way of a job by calls: ``submit``, ``worker.dispatch``, ``worker.run``, ``advance``, ``sweep``,
    ``rescue``. ``events`` is everything that was told, in order."""

    def __init__(self, frozen: clock.FrozenClock) -> None:
        self.clock = frozen
        self.workers: list[Worker] = []
        self.events: list[Any] = []
        self.make_port: Callable[[Job, JobHandler], RunPort] = reporter.direct_port

    @contextmanager
    def registered(self) -> Iterator[HandPlatform]:
        """Listen to events, and undo handlers registered meanwhile."""
        events.subscribe(object, self.events.append)
        try:
            with registry.preserved():
                yield self
        finally:
            events.unsubscribe(object, self.events.append)

    def add_worker(
        self,
        concurrency: int = 4,
        queues: Sequence[str] | None = None,
        keys: frozenset[str] | None = None,
    ) -> Worker:
        """A live worker of some queues (default: all) that knows the handlers of some keys (default: all)."""
        known = registry.own_keys() if keys is None else keys
        process = processes.register(
            "worker",
            name=f"hand-{len(self.workers)}",
            now=clock.now(),
            queues=every_queue() if queues is None else queues,
            concurrency=concurrency,
            handlers=known,
        )
        worker = Worker(self, process, None if queues is None else tuple(queues), keys)
        self.workers.append(worker)
        return worker

    @property
    def worker(self) -> Worker:
        """The first worker; made when there is none."""
        return self.workers[0] if self.workers else self.add_worker()

    def submit(self, job_type: Any, params: Mapping[str, Any] | None = None, **fields: Any) -> UUID:
        """Enqueue and return the id (of the new row, alias or replayed job). ``job_type``: a handler or its name."""
        if not isinstance(job_type, str):
            fields.setdefault("app_id", job_type.spec.app_id)
            job_type = job_type.spec.job_type
        result = submit.enqueue(job_type, params, **fields)
        assert result.id is not None, result
        return result.id

    def job(self, job_id: UUID) -> Job:
        """The row as it is now."""
        return queries.get_job(job_id)

    def state(self, job_id: UUID) -> State:
        """The state as it is now."""
        return State(self.job(job_id).state)

    def drain(self) -> int:
        """Let the workers do everything that may start now; how many runs."""
        _ = self.worker
        total = 0
        while done := sum(worker.work() for worker in self.workers):
            total += done
            self.sweep()
        return total

    def advance(self, seconds: float) -> None:
        """Turn the clock; live workers beat."""
        self.clock.advance(seconds)
        for worker in self.workers:
            worker.beat()

    def sweep(self) -> int:
        """One round of the sweeper."""
        return rescue.sweep(clock.now())

    def rescue(self) -> int:
        """One round of the rescuer, trusted."""
        return rescue.rescue_dead(clock.now(), config.get().tasks.lease_seconds)

    def prune(self, batch: int = 500) -> int:
        """One round of retention."""
        return prune.prune(clock.now(), batch)

    def kill_child(self, job_id: UUID) -> Any:
        """As when the pool process of a running job dies and its worker notices."""
        job = self.job(job_id)
        return finish.lost(
            job.id, job.lease, whole_worker=False, reason="its process was killed", now=clock.now()
        )

    def told(self, kind: type) -> list[Any]:
        """The events of one kind so far."""
        return [event for event in self.events if isinstance(event, kind)]

    def perform(self, job_type: Any, params: Mapping[str, Any] | None = None, **fields: Any) -> Job:
        """Submit, drain, and give the job as it is then."""
        job_id = self.submit(job_type, params, **fields)
        self.drain()
        return self.job(job_id)

    assert_enqueued = staticmethod(assertions.assert_enqueued)
    refute_enqueued = staticmethod(assertions.refute_enqueued)
