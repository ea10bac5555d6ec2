"""Runs in the caller's own thread: the same rows, written on the caller's connection."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from jobsplatform.kernel import clock, config
from tasks import executor, registry, reporter, transitions
from tasks.context import Child, JobContext
from tasks.handlers import job
from tasks.models import Job
from tasks.outcomes import LeaseLost
from tasks.states import CancelReason
from tests.database.handlers.rows import running_job


@pytest.fixture(autouse=True)
def own_registry() -> Iterator[None]:
    with registry.preserved():
        yield


def port_of(row: Job) -> reporter.DirectPort:
    return reporter.direct_port(row, None)  # type: ignore[arg-type]


def now_in(row: Job) -> Job:
    return Job.objects.get(id=row.id)


@pytest.mark.django_db
def test_progress_checkpoint_and_data_are_written_at_once() -> None:
    row = running_job(data={"a": 1})
    port = port_of(row)
    port.progress(1, 2, "one")
    port.checkpoint([1])
    assert port.merge({"b": 2}) == {"a": 1, "b": 2}
    saved = now_in(row)
    assert (saved.progress_done, saved.progress_label, saved.checkpoint) == (1, "one", [1])
    assert saved.data == {"a": 1, "b": 2}
    assert port.close() is None


@pytest.mark.django_db
def test_coalesced_progress_is_handed_over_at_the_end() -> None:
    row = running_job()
    with config.override(tasks={"progress_per_second": 1}):
        port = port_of(row)
        port.progress(1, 9, "")
        port.progress(2, 9, "")
    assert now_in(row).progress_done == 1
    assert port.close() == (2, 9, "")


@pytest.mark.django_db(transaction=True)
def test_what_was_told_inside_a_rolled_back_transaction_is_not_lost() -> None:
    row = running_job()
    port = port_of(row)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        port.progress(1, 2, "inside")
        port.checkpoint({"after": 1})
        assert port.merge({"seen": 1}) == {"seen": 1}
        raise ZeroDivisionError
    port.checkpoint({"after": 2})
    saved = now_in(row)
    assert (saved.progress_done, saved.checkpoint, saved.data) == (1, {"after": 2}, {"seen": 1})


@pytest.mark.django_db(transaction=True)
def test_what_waited_is_written_at_the_runs_end() -> None:
    row = running_job()
    port = port_of(row)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        port.checkpoint({"after": 1})
        raise ZeroDivisionError
    assert port.close() is None
    assert now_in(row).checkpoint == {"after": 1}


@pytest.mark.django_db
def test_a_cancel_is_seen_at_the_next_check_and_a_lost_lease_too() -> None:
    row = running_job()
    port = port_of(row)
    assert port.cancel_reason() is CancelReason.NONE
    transitions.ask_to_stop(row.id, CancelReason.USER, clock.now())
    assert port.cancel_reason() is CancelReason.USER
    Job.objects.filter(id=row.id).update(lease=2)
    with pytest.raises(LeaseLost):
        port.cancel_reason()
    with pytest.raises(LeaseLost):
        port.checkpoint(1)
    port = port_of(row)
    with pytest.raises(LeaseLost):
        port.spawn([Child("tests.one", {}, "a")], False)
    assert now_in(row).checkpoint is None
    assert Job.objects.count() == 1


@pytest.mark.django_db
def test_a_stale_ports_close_is_quiet() -> None:
    row = running_job()
    port = port_of(row)
    with transaction.atomic():
        port._cursor = 1
    Job.objects.filter(id=row.id).update(lease=2)
    assert port.close() is None
    assert now_in(row).checkpoint is None


@pytest.mark.django_db(transaction=True)
def test_an_async_handler_uses_the_same_context() -> None:
    async def handler(ctx: JobContext) -> Any:
        ctx.check_cancel()
        ctx.progress(1, 1, "async")
        ctx.checkpoint({"after": 1})
        ctx.merge(seen=1)
        return await Job.objects.acount()

    row = running_job()
    port = port_of(row)
    declared = job("tests.one")(handler)
    context = JobContext(row.id, "", "tests.one", {}, {}, 1, 1, clock.now(), port)
    ending = executor.execute(declared, context, continuing=False)
    assert (ending.kind, ending.result) == ("completed", 1)
    assert port.close() == (1, 1, "async")
    saved = now_in(row)
    assert (saved.checkpoint, saved.data) == ({"after": 1}, {"seen": 1})
