"""Progress, checkpoints and cancels travel beside the handler's own transaction, on a connection of their own."""

import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection, connections, transaction

from jobsplatform.kernel import clock, config, context, events
from jobsplatform.kernel.db import is_postgres
from jobsplatform.kernel.errors import CheckpointInTransaction, UnknownName
from jobsplatform.kernel.loop import Loop, wait_until
from jobsplatform.kernel.models import Process, Tenant
from tasks import registry, reporter, spawning, transitions
from tasks.context import Child
from tasks.events import LeaseRejected, ProgressMade
from tasks.handlers import job
from tasks.models import Job
from tasks.outcomes import JobCancelled, LeaseLost
from tasks.reporter import ThreadPort
from tasks.states import CancelReason, State
from tests.database.handlers.rows import held_elsewhere, running_job

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    with registry.preserved():
        yield
    assert reporter.close_all()
    assert "reporter" not in {thread.name for thread in threading.enumerate()}


def row(job: Job) -> Job:
    return Job.objects.get(id=job.id)


def seen(job: Job, **expected: Any) -> Callable[[], bool]:
    return lambda: Job.objects.filter(id=job.id, **expected).exists()


class Undo(Exception):
    pass


def in_transaction_that(commits: bool, work: Callable[[], None]) -> None:
    """Write something of the handler's own and do ``work`` in the same transaction."""
    try:
        with transaction.atomic():
            Tenant.objects.create(tenant_id="the handler's own")
            work()
            if not commits:
                raise Undo
    except Undo:
        pass
    assert Tenant.objects.filter(tenant_id="the handler's own").exists() is commits


# -- progress --------------------------------------------------------------------------------------------


def test_progress_is_written_while_the_handler_goes_on() -> None:
    job = running_job()
    port = ThreadPort(job)
    port.progress(1, 4, "first")
    wait_until(seen(job, progress_done=1, progress_total=4, progress_label="first"), 10)
    port.progress(2, None, "夜間 🚀")
    wait_until(seen(job, progress_done=2, progress_total=None, progress_label="夜間 🚀"), 10)
    assert port.close() is None


def test_progress_is_coalesced_and_the_last_one_is_never_lost() -> None:
    job = running_job()
    written: list[ProgressMade] = []
    events.subscribe(ProgressMade, written.append)
    try:
        with config.override(tasks={"progress_per_second": 1}):
            port = ThreadPort(job)
            for n in range(5000):
                port.progress(n, 5000, "")
            wait_until(lambda: written, 10)
            last = port.close()
    finally:
        events.unsubscribe(ProgressMade, written.append)
    assert len(written) <= 3
    assert last == (4999, 5000, "") or row(job).progress_done == 4999


def test_a_progress_that_is_being_written_when_the_run_ends_is_handed_over_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = running_job()
    writing, go_on = threading.Event(), threading.Event()
    real = transitions.progress

    def slow(*args: Any) -> bool:
        writing.set()
        go_on.wait(10)
        return real(*args)

    monkeypatch.setattr(transitions, "progress", slow)
    port = ThreadPort(job)
    port.progress(99, 100, "nearly")
    assert writing.wait(10)
    last = port.close()
    Job.objects.filter(id=job.id).update(state=State.COMPLETED, worker_id=None, finished_at=clock.now())
    go_on.set()
    assert last == (99, 100, "nearly")
    assert reporter.close_all()
    assert row(job).progress_done is None  # late, and refused


@pytest.mark.parametrize("commits", [True, False])
def test_progress_inside_the_handlers_transaction_survives_its_end(commits: bool) -> None:
    job = running_job()
    port = ThreadPort(job)

    def work() -> None:
        port.progress(1, 2, "inside")
        if is_postgres():
            wait_until(lambda: other_connection_sees(job, "progress_done", 1), 10)

    in_transaction_that(commits, work)
    wait_until(seen(job, progress_done=1, progress_label="inside"), 10)
    port.close()


@pytest.mark.parametrize("commits", [True, False])
def test_a_checkpoint_inside_the_handlers_transaction(commits: bool) -> None:
    """PostgreSQL saves it whatever becomes of the transaction; on SQLite it is a named error."""
    job = running_job()
    port = ThreadPort(job)

    def work() -> None:
        if is_postgres():
            port.checkpoint({"after": 7})
            assert other_connection_sees(job, "checkpoint", {"after": 7})
            assert port.merge({"seen": 1}) == {"seen": 1}
            return
        with pytest.raises(CheckpointInTransaction, match="after the transaction, or use PostgreSQL"):
            port.checkpoint({"after": 7})
        with pytest.raises(CheckpointInTransaction):
            port.merge({"seen": 1})

    in_transaction_that(commits, work)
    if not is_postgres():
        port.checkpoint({"after": 7})
    assert row(job).checkpoint == {"after": 7}
    port.close()


def other_connection_sees(job: Job, column: str, value: Any) -> bool:
    found: list[Any] = []

    def look() -> None:
        found.append(getattr(row(job), column))
        connections.close_all()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return bool(found and found[0] == value)


def test_a_broken_transaction_of_the_handler_harms_no_progress() -> None:
    job = running_job()
    port = ThreadPort(job)
    port.progress(1, 2, "")
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT no_such_column FROM tasks_job")
    except Exception:
        pass
    port.progress(2, 2, "")
    wait_until(seen(job, progress_done=2), 10)
    port.close()


# -- checkpoints and data --------------------------------------------------------------------------------


def test_a_checkpoint_is_saved_when_it_returns_and_clears_the_crashes() -> None:
    job = running_job(crashes=2, losses=1, checkpoint={"after": 1})
    port = ThreadPort(job)
    port.checkpoint({"after": 2})
    saved = row(job)
    assert (saved.checkpoint, saved.crashes, saved.losses) == ({"after": 2}, 0, 0)
    port.close()


def test_data_is_merged_under_the_lease() -> None:
    job = running_job(data={"a": 1, "b": 1})
    port = ThreadPort(job)
    assert port.merge({"b": 2, "c": 3}) == {"a": 1, "b": 2, "c": 3}
    assert row(job).data == {"a": 1, "b": 2, "c": 3}
    port.close()


def test_a_checkpoint_waits_for_a_locked_row_and_is_then_saved() -> None:
    job = running_job()
    port = ThreadPort(job)

    def lock() -> None:
        Job.objects.select_for_update().get(id=job.id)
        Tenant.objects.create(tenant_id="holds the file")

    with held_elsewhere(lock, 1.5):
        port.checkpoint(5)
        assert row(job).checkpoint == 5
    port.close()


# -- leases ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [{"lease": 2}, {"state": State.PENDING, "worker_id": None}])
@pytest.mark.parametrize(
    "write",
    [
        lambda port: port.checkpoint(1),
        lambda port: port.merge({"a": 1}),
        lambda port: port.spawn([Child("tests.one", {}, "k")], False),
    ],
)
def test_a_stale_run_writes_nothing_and_is_told(write: Callable[[Any], Any], change: dict[str, Any]) -> None:
    job = running_job()
    Job.objects.filter(id=job.id).update(**change)
    before = row(job).revision
    told: list[LeaseRejected] = []
    events.subscribe(LeaseRejected, told.append)
    port = ThreadPort(job)
    try:
        with pytest.raises(LeaseLost):
            write(port)
    finally:
        events.unsubscribe(LeaseRejected, told.append)
        port.close()
    after = row(job)
    assert (after.revision, after.checkpoint, after.data) == (before, None, {})
    assert len(told) <= 1  # none when the poll was first
    assert Job.objects.count() == 1


def test_a_computing_handler_learns_that_its_lease_is_lost() -> None:
    job = running_job()
    port = ThreadPort(job)
    port.cancel_reason()
    Job.objects.filter(id=job.id).update(lease=2)
    wait_until(lambda: raises_lease_lost(port), 10)
    port.close()


def raises_lease_lost(port: ThreadPort) -> bool:
    try:
        port.cancel_reason()
    except LeaseLost:
        return True
    return False


# -- cancels ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", [CancelReason.USER, CancelReason.PREEMPTED, CancelReason.SUSPENDED])
def test_a_cancel_in_the_row_is_seen(reason: CancelReason) -> None:
    job, other = running_job(), running_job()
    port, other_port = ThreadPort(job), ThreadPort(other)
    assert transitions.ask_to_stop(job.id, reason, clock.now())
    assert wait_until(port.cancel_reason, 10) is reason
    assert other_port.cancel_reason() is CancelReason.NONE
    port.close()
    other_port.close()


def test_the_process_can_ask_all_its_runs_to_stop() -> None:
    jobs = [running_job() for _ in range(3)]
    ports = [ThreadPort(job) for job in jobs]
    assert sorted(reporter.running()) == sorted((job.id, 1) for job in jobs)
    reporter.ask_all_to_stop(CancelReason.SHUTDOWN)
    assert {port.cancel_reason() for port in ports} == {CancelReason.SHUTDOWN}
    transitions.ask_to_stop(jobs[0].id, CancelReason.USER, clock.now())
    wait_until(lambda: ports[0].cancel_reason() is CancelReason.USER, 10)
    for port in ports:
        port.close()
    assert reporter.running() == []


def test_the_soft_limit_is_kept_where_the_pool_cannot_signal() -> None:
    def handler() -> None: ...

    declared = job("tests.one", soft_timeout=0.001)(handler)
    port = reporter.watching_thread_port(running_job(), declared)
    assert wait_until(port.cancel_reason, 10) is CancelReason.TIMEOUT
    port.close()
    unlimited = reporter.thread_port(running_job(), declared)
    assert unlimited.cancel_reason() is CancelReason.NONE
    unlimited.close()


@pytest.mark.postgres
def test_a_run_whose_worker_cannot_beat_is_asked_to_stop_before_its_lease_ends() -> None:
    now = clock.now()
    worker = Process.objects.create(
        host="h", pid=1, role="worker", name="w", started_at=now, heartbeat_at=now - timedelta(seconds=11)
    )
    port = ThreadPort(running_job(worker_id=worker.id))
    assert wait_until(port.cancel_reason, 10) is CancelReason.SHUTDOWN
    Process.objects.update(heartbeat_at=clock.now())
    wait_until(lambda: port.cancel_reason() is CancelReason.NONE, 10)
    port.close()


def test_a_run_cut_off_from_the_database_is_asked_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError

    def away(runs: object) -> None:
        raise OperationalError("server closed the connection")

    monkeypatch.setattr("tasks.queries.cancel_flags", away)
    with config.override(tasks={"lease_seconds": 0.2, "heartbeat_seconds": 0.1}):
        port = ThreadPort(running_job())
        assert wait_until(port.cancel_reason, 20) is CancelReason.SHUTDOWN
        monkeypatch.undo()
        wait_until(lambda: port.cancel_reason() is CancelReason.NONE, 20)
        port.close()


def unanswered_for(port: ThreadPort, seconds: float) -> None:
    """The round that the reporter is in began so long ago."""
    asking = port._reporter
    wait_until(lambda: asking._unheard_since is not None, 20)
    assert asking._unheard_since is not None
    asking._unheard_since -= seconds


def test_a_process_that_was_stopped_for_a_while_still_hears(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has asked nothing meanwhile: whether its lease still holds is what its next round finds out."""
    port = ThreadPort(running_job())
    wait_until(lambda: port._reporter._unheard_since is None and port._reporter._polled_at, 20)
    now = reporter.time.monotonic
    monkeypatch.setattr(reporter.Reporter, "round", lambda self: 60.0)  # its thread has not been woken yet
    monkeypatch.setattr(reporter.time, "monotonic", lambda: now() + 3600)
    assert port.cancel_reason() is CancelReason.NONE
    monkeypatch.undo()
    port.close()


@pytest.mark.postgres
def test_a_run_is_asked_to_stop_though_its_reporter_hangs_in_a_dead_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hang = threading.Event()
    monkeypatch.setattr(reporter.Reporter, "step", lambda self: not hang.wait())
    port = ThreadPort(running_job())
    try:
        assert port.cancel_reason() == CancelReason.NONE
        unanswered_for(port, config.get().tasks.lease_seconds * 0.7)
        assert port.cancel_reason() == CancelReason.SHUTDOWN
    finally:
        hang.set()
        port.close()


@pytest.mark.postgres
@pytest.mark.parametrize(
    "write", [lambda port: port.checkpoint(1), lambda port: port.merge({"a": 1})], ids=["checkpoint", "merge"]
)
def test_a_run_that_waits_for_a_write_is_out_before_its_lease_ends(
    monkeypatch: pytest.MonkeyPatch, write: Callable[[ThreadPort], Any]
) -> None:
    """Else it would still be a run when another worker takes its job over."""
    job, hang, step = running_job(), threading.Event(), reporter.Reporter.step
    monkeypatch.setattr(reporter.Reporter, "step", lambda self: hang.wait() and step(self))
    port = ThreadPort(job)
    unanswered_for(port, config.get().tasks.lease_seconds * 0.7)
    try:
        with pytest.raises(JobCancelled) as raised:
            write(port)
        assert raised.value.reason is CancelReason.SHUTDOWN
        hang.set()
        port.checkpoint(2)  # the database is back: nothing is left in the way
        assert (row(job).checkpoint, row(job).data) == (2, {})
    finally:
        hang.set()
        port.close()


def test_a_pool_child_whose_parent_died_asks_its_runs_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    child, thread = reporter.thread_port(running_job(), handler_without_limits()), ThreadPort(running_job())
    assert child.cancel_reason() is CancelReason.NONE
    monkeypatch.setattr(os, "getppid", lambda: -1)  # nobody's, not even that of a process nobody waits for
    assert wait_until(child.cancel_reason, 10) is CancelReason.SHUTDOWN
    assert thread.cancel_reason() is CancelReason.NONE  # no pool child: its parent may come and go
    child.close()
    thread.close()


def handler_without_limits() -> Any:
    def handler() -> None: ...

    return job("tests.unlimited")(handler)


# -- children --------------------------------------------------------------------------------------------


def test_children_are_created_once_with_the_parents_tenant_and_user() -> None:
    def handler(n: int = 0) -> None: ...

    declared = job("tests.child")(handler)
    parent = running_job(tenant_id="t", user_id="u", app_id="")
    port = ThreadPort(parent)
    first = port.spawn([Child(declared, {"n": 1}, "a"), Child("tests.child", {"n": 2}, "b")], True)
    again = port.spawn([Child(declared, {"n": 2}, "b"), Child(declared, {"n": 3}, "c")], True)
    assert again[0] == first[1]
    children = {child.child_key: child for child in Job.objects.filter(parent_id=parent.id)}
    assert {key: child.params["n"] for key, child in children.items()} == {"a": 1, "b": 2, "c": 3}
    assert {(child.tenant_id, child.user_id) for child in children.values()} == {("t", "u")}
    assert row(parent).ignore_child_failures
    with pytest.raises(UnknownName):
        port.spawn([Child("tests.chidl", {}, "d")], True)
    port.close()


def test_children_are_created_though_the_connection_breaks_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = job("tests.patient")(lambda: None)
    parent, create, broken = running_job(), spawning.spawn, [OperationalError("terminating connection")]

    def spawn(*given: Any) -> Any:
        if broken:
            raise broken.pop()
        return create(*given)

    monkeypatch.setattr(reporter.spawning, "spawn", spawn)
    port = ThreadPort(parent)
    with context.bind(request_id="r-1"):
        ids = port.spawn([Child(declared, {}, "a")], False)
    port.close()
    assert list(Job.objects.filter(parent_id=parent.id).values_list("id", "request_id")) == [(ids[0], "r-1")]


@pytest.mark.parametrize("commits", [True, False])
def test_children_belong_to_the_handlers_transaction(commits: bool) -> None:
    def handler() -> None: ...

    declared = job("tests.child")(handler)
    parent = running_job()
    port = ThreadPort(parent)

    def work() -> None:
        port.spawn([Child(declared, {}, "a")], False)
        port.progress(1, 1, "spawned")

    in_transaction_that(commits, work)
    assert Job.objects.filter(parent_id=parent.id).count() == int(commits)
    wait_until(seen(parent, progress_done=1), 10)
    port.close()


def test_a_checkpoint_after_spawn_in_one_transaction_is_a_named_error_and_harms_no_other_run() -> None:
    def handler() -> None: ...

    declared = job("tests.child")(handler)
    parent = running_job()
    port = ThreadPort(parent)
    with transaction.atomic():
        port.spawn([Child(declared, {}, "a")], False)
        with pytest.raises(CheckpointInTransaction, match="after the transaction"):
            port.checkpoint(1)
        port.progress(1, 1, "held back")
        assert port.cancel_reason() is CancelReason.NONE
    port.checkpoint(2)
    wait_until(seen(parent, progress_done=1, checkpoint=2), 10)
    port.close()


# -- the thread ------------------------------------------------------------------------------------------


def test_one_thread_serves_all_runs_and_ends_with_its_connection() -> None:
    ports = [ThreadPort(running_job()) for _ in range(5)]
    for port in ports:
        port.checkpoint(1)
    assert [thread.name for thread in threading.enumerate()].count("reporter") == 1
    assert reporter.close_all()
    for port in ports:
        port.close()
    late = ThreadPort(running_job())  # a new one begins
    late.checkpoint(2)
    late.close()


@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_children_forked_beside_a_busy_service_thread_do_not_hang() -> None:
    """On SQLite a fork in the middle of another thread's query leaves the child a mutex locked for ever."""

    class Busy(Loop):
        name = "busy"

        def step(self) -> bool:
            return Job.objects.count() >= 0

    busy = Busy()
    busy.start()
    try:
        for _ in range(20):
            pid = os.fork()
            if pid == 0:
                try:
                    signal.alarm(20)
                    connections.close_all()
                    Job.objects.count()
                    os._exit(0)
                finally:
                    os._exit(1)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        assert busy.stop()


@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_a_forked_child_has_a_reporter_of_its_own() -> None:
    parent_job, child_job = running_job(), running_job()
    port = ThreadPort(parent_job)
    port.checkpoint("parent")
    connections.close_all()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            assert reporter.running() == []
            own = reporter.thread_port(child_job, None)  # type: ignore[arg-type]
            own.checkpoint("child")
            own.close()
            code = 0 if reporter.close_all() else 2
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    port.checkpoint("parent again")
    assert (row(parent_job).checkpoint, row(child_job).checkpoint) == ("parent again", "child")
    port.close()
