"""What may happen to the platform, in any order, and what must hold after each step."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta
from unittest.mock import patch

from django.db import IntegrityError, transaction
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.errors import IllegalMove
from jobsplatform.kernel.models import Process
from jobsplatform.testing import START
from jobsplatform.testing.platform import ACTOR, HandPlatform, Worker
from tasks import control, finish, run
from tasks.models import Job, Suspension
from tasks.states import IN_FLIGHT, CancelReason, State
from tests.database.lease_model import laws, outages
from tests.database.lease_model.interleaved import two_rounds
from tests.database.lease_model.last_act import LastAct
from tests.database.lease_model.world import (
    ENDINGS,
    ENDS,
    KINDS,
    QUEUES,
    SETTINGS,
    WRITES,
    Everything,
    Run,
    everything,
)

nth = st.integers(0, 11)
WORKERS = ((3, QUEUES), (3, ("default",)), (3, ("other",)))

FROM_OUTSIDE = [name for name, e in ENDINGS.items() if e.kind in ("completed", "failed", "retry")]
OUTAGES = ("before", "commit", "answer", "after")
# What is listed twice happens twice as often.
OPERATIONS = (
    "cancel",
    "cancel_run",
    "cancel_run",
    "cascade",
    "retry",
    "resume",
    "suspend",
    "lift",
    "lift",
    "drain",
)
DISPATCHES = ("dispatch_and_start", "dispatch_and_start", "dispatch", "at_once", "without_broker")
HAPPENINGS = (
    "deliver",
    "write",
    "end",
    "end",
    "end",
    "zombies_write",
    "zombies_write",
    "outage",
    "from_outside",
)
TIMES = ("advance", "fall_silent", "come_back", "rescue", "silence_and_rescue", "silence_and_rescue", "sweep")


class LeaseMachine(LastAct, RuleBasedStateMachine):
    """One platform with three workers; each example sees empty tables, and leaves them so."""

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        frozen = clock.FrozenClock(START)
        self._stack.enter_context(clock.use(frozen))
        self._stack.enter_context(config.override(tasks=SETTINGS))
        self._block = transaction.atomic()
        self._block._from_testcase = True  # the edge of a test's own transaction: commits end inside of it
        self._block.__enter__()
        self.platform = self._stack.enter_context(HandPlatform(frozen).registered())
        self.accepted: set[object] = set()
        self.messages: list[tuple[Run, Worker]] = []
        self.runs: list[Run] = []
        self.silent: set[Worker] = set()
        self.seen: Everything = ({}, frozenset())
        self.revived = False
        self.sound = True

    @initialize(kinds=st.lists(st.sampled_from(KINDS), min_size=4, max_size=4), at_once=st.booleans())
    def a_busy_platform(self, kinds: list[str], at_once: bool) -> None:
        for concurrency, queues in WORKERS:
            self.platform.add_worker(concurrency, queues)
        for n, kind in enumerate(kinds):
            for queue in QUEUES:
                self._submit(kind, n % 2, queue)
        if at_once:
            self._at_once(1)
        for worker in self.platform.workers:
            self._dispatch_and_start(worker)

    # -- what may happen: few rules, so that each example mixes all of it ----------------------------------

    @rule(kind=st.sampled_from(KINDS), n=st.integers(0, 1), later=st.booleans())
    def jobs_come(self, kind: str, n: int, later: bool) -> None:
        self.sound = False
        for queue in QUEUES:
            self._submit(kind, n, queue, seconds=5 if later and n else 0)

    @rule(what=st.sampled_from(OPERATIONS), n=nth)
    def an_operator(self, what: str, n: int) -> None:
        self.sound = False
        getattr(self, f"_{what}")(n)

    @rule(what=st.sampled_from(DISPATCHES), n=nth)
    @precondition(lambda self: self._speaking())
    def a_dispatcher(self, what: str, n: int) -> None:
        self.sound = False
        if what == "at_once":
            self._at_once(n)
        else:
            speaking = self._speaking()
            getattr(self, f"_{what}")(speaking[n % len(speaking)])

    @rule(what=st.sampled_from(HAPPENINGS), n=nth, how=st.integers(0, 35))
    @precondition(lambda self: self.runs)
    def a_run(self, what: str, n: int, how: int) -> None:
        self.sound = False
        getattr(self, f"_{what}")(n, how)

    @rule(what=st.sampled_from(TIMES), n=nth)
    def time(self, what: str, n: int) -> None:
        self.sound = False
        getattr(self, f"_{what}")(n)

    # -- jobs and operators --------------------------------------------------------------------------------

    def _submit(self, kind: str, n: int, queue: str, seconds: int = 0) -> None:
        later = clock.now() + timedelta(seconds=seconds) if seconds else None
        self.accepted.add(self.platform.submit(f"model.{kind}", {"n": n}, queue=queue, run_after=later))

    def _job(self, n: int, *states: State) -> Job | None:
        rows = list(Job.objects.filter(state__in=states or list(State)).order_by("id"))
        return rows[n % len(rows)] if rows else None

    def _cancel(self, n: int) -> None:
        if (job := self._job(n)) is not None:
            control.cancel(job.id, actor=ACTOR)

    def _cancel_run(self, n: int) -> None:
        if (job := self._job(n, State.RUNNING)) is not None:
            control.cancel(job.id, actor=ACTOR)

    def _cascade(self, n: int) -> None:
        if (job := self._job(n, State.WAITING) or self._job(n)) is not None:
            control.cancel(job.id, actor=ACTOR, cascade=True)

    def _retry(self, n: int) -> None:
        if (job := self._job(n, State.FAILED, State.CANCELLED)) is not None:
            self.revived = True
            try:
                self.accepted.add(control.retry(job.id, actor=ACTOR).id)
            except IllegalMove:
                assert job.dedupe_key, "only a newer twin is a reason to refuse"

    def _resume(self, n: int) -> None:
        if (job := self._job(n, State.PAUSED)) is not None:
            control.resume(job.id, actor=ACTOR)

    def _suspend(self, n: int) -> None:
        queue = ("", *QUEUES)[n % 3]
        control.suspend("queue" if queue else "all", queue, actor=ACTOR, interrupt=n % 2 == 0)
        rows = Job.objects.filter(queue=queue) if queue else Job.objects.all()
        assert not rows.filter(state=State.DISPATCHED).exists(), "sent, but suspended"

    def _lift(self, n: int = 0) -> None:
        for row in Suspension.objects.filter(lifted_at=None):
            control.unsuspend(row.scope, row.target, actor=ACTOR)

    def _drain(self, n: int) -> None:
        control.interrupt_worker(self._worker(n).id, CancelReason.SHUTDOWN)

    # -- dispatch ------------------------------------------------------------------------------------------

    def _worker(self, n: int) -> Worker:
        return self.platform.workers[n % len(self.platform.workers)]

    def _speaking(self) -> list[Worker]:
        return [w for w in self.platform.workers if w not in self.silent]

    def _dispatch(self, worker: Worker) -> list[Run]:
        sent = [Run(c.job_id, c.lease) for c in worker.dispatch()]
        worker.sent.clear()
        self.messages += [(message, worker) for message in sent]
        return sent

    def _dispatch_and_start(self, worker: Worker) -> None:
        sent = self._dispatch(worker)
        self._look()  # each of the two moves is looked at
        for message in sent:
            self._begin(message, worker)

    def _at_once(self, n: int) -> None:
        speaking = self._speaking()
        self._overlap(speaking[n % len(speaking)], speaking[(n + 1) % len(speaking)])

    def _overlap(self, one: Worker, other: Worker) -> None:
        """The second one's round comes between the first one's count and its claim."""
        try:
            two_rounds(lambda: self._dispatch(one), lambda: self._dispatch(other))
        except IntegrityError as error:
            raise AssertionError(f"too many in flight: the database had to refuse it: {error}") from error
        self._look()

    def _without_broker(self, worker: Worker) -> None:
        def fails(_: object) -> None:
            raise ConnectionError("no broker")

        with patch.object(worker, "send", fails):
            worker.dispatch()
        just_now = Job.objects.filter(state=State.DISPATCHED, worker_id=worker.id, dispatched_at=clock.now())
        told = {message.job_id for message, _ in self.messages}
        assert not just_now.exclude(id__in=told).exists(), "sent without a broker"

    # -- runs ----------------------------------------------------------------------------------------------

    def _begin(self, message: Run, worker: Worker) -> None:
        row = Job.objects.get(id=message.job_id)
        may = (row.state, row.lease, row.worker_id) == (State.DISPATCHED, message.lease, worker.id)
        before = None if may else everything()
        begun = run.begin(message.job_id, message.lease, worker.id)
        assert (begun is not None) == may, f"a run began without its lease: {message}"
        if before is not None:
            laws.unchanged(before, "a message without a lease")
        else:
            assert message not in self.runs, f"one lease began twice: {message}"
            self.runs.append(message)

    def _deliver(self, n: int, how: int) -> None:
        """Any message that was ever sent: a new one, one again, one that comes late."""
        self._begin(*self.messages[-1 - n % len(self.messages)])

    def _run(self, n: int) -> Run:
        """Every other time one that holds its job, if any does."""
        held = [r for r in self.runs if r.held()] if n % 2 else []
        runs = held or self.runs
        return runs[-1 - n // 2 % len(runs)]

    def _write(self, n: int, how: int) -> None:
        what = sorted(WRITES)[how % len(WRITES)]
        laws.lands_only_if_held(self._run(n), WRITES[what], what)

    def _end(self, n: int, how: int) -> None:
        what = list(ENDS)[how % len(ENDS)]
        laws.lands_only_if_held(self._run(n), ENDS[what], what)

    def _zombies_write(self, n: int, how: int) -> None:
        """Every run whose lease is gone tries everything."""
        for zombie in [r for r in self.runs if not r.held()][-3:]:
            laws.haunts(zombie)

    def _outage(self, n: int, how: int) -> None:
        """The database goes away before the commit, at it, or with its answer; or the writer dies after it."""
        held = self._run(n)
        if held.held():
            outages.end_in_one(held, ENDINGS[list(ENDINGS)[how % len(ENDINGS)]], OUTAGES[n % 4])

    def _from_outside(self, n: int, how: int) -> None:
        if (job := self._job(n, State.WAITING) or self._job(n)) is not None:
            may = job.state == State.WAITING and job.open_end
            ending = ENDINGS[FROM_OUTSIDE[how % len(FROM_OUTSIDE)]]
            done = finish.from_outside(job.id, job.lease, ending, clock.now())
            assert (done is not None) == may

    # -- time, silence, rescue -----------------------------------------------------------------------------

    def _advance(self, n: int) -> None:
        self.platform.clock.advance((1, 6, 20, 120)[n % 4])
        for worker in self._speaking():
            assert worker.beat(), f"{worker.process.name} beats and is lost"

    def _fall_silent(self, n: int) -> None:
        self.silent.add(self._worker(n))

    def _come_back(self, n: int) -> None:
        """It was only slow: it goes on, under a new incarnation if it was declared dead."""
        for worker in [w for w in self.platform.workers if w in self.silent]:
            self.silent.remove(worker)
            if not worker.beat():
                self.platform.workers.remove(worker)
                self.platform.add_worker(worker.process.concurrency, worker.process.queues)

    def _rescue(self, n: int) -> None:
        alive = [w.id for w in self._speaking()]
        safe = list(Job.objects.filter(worker_id__in=alive, state__in=sorted(IN_FLIGHT)))
        self.platform.rescue()
        for old in safe:
            new = Job.objects.get(id=old.id)
            same = (new.state, new.lease, new.worker_id) == (old.state, old.lease, old.worker_id)
            assert same, f"{old.id} was taken back though its worker beats"

    def _silence_and_rescue(self, n: int) -> None:
        """The usual end of a worker: silent for a lease, and taken back."""
        if len(self._speaking()) > 1:
            self.silent.add(self._speaking()[n % len(self._speaking())])
        self._advance(2)
        self._rescue(n)
        dead = Process.objects.exclude(lost_at=None).values("id")
        assert not Job.objects.filter(worker_id__in=dead).exists(), "a dead worker keeps its jobs"

    def _sweep(self, n: int) -> None:
        self.platform.sweep()

    # -- what must hold ------------------------------------------------------------------------------------

    @invariant()
    def laws_hold(self) -> None:
        self._look()
        self.sound = True

    def _look(self) -> None:
        """Whether every law holds of the step since the last look."""
        self.sound = False
        now = everything()
        laws.nothing_lost(self.accepted, now)
        laws.moves_are_legal(self.seen, now, revived=self.revived)
        laws.limits_hold(now, {w.id: w.process.concurrency for w in self.platform.workers})
        laws.one_attempt_a_run(self.runs, now)
        self.seen, self.revived = now, False

    def teardown(self) -> None:
        try:
            if self.sound:
                self.sound = False
                self.last_act()
        finally:
            transaction.set_rollback(True)
            self._block.__exit__(None, None, None)
            self._stack.close()
