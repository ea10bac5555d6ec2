"""Short jobs are sent ahead of time to a slot whose runs are about to end; one slot stays one slot."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import QuerySet

from jobsplatform.kernel import config
from jobsplatform.testing.platform import ACTOR, HandPlatform, Worker
from tasks import control, dispatch, limits, pace, packing, transitions
from tasks.dispatch import Claimed
from tasks.handlers import FunctionHandler, job
from tasks.models import Job
from tasks.states import Priority, State

SHORT = 0.001


@pytest.fixture(autouse=True)
def fresh_pace() -> None:
    pace.forget()


@pytest.fixture
def short() -> FunctionHandler:
    @job("line.short")
    def short(n: int = 0) -> None: ...

    pace.write(short.spec.key, 100, SHORT)
    return short


@pytest.fixture
def long() -> FunctionHandler:
    @job("line.long")
    def long(n: int = 0) -> None: ...

    return long


@pytest.fixture
def worker(jobs: HandPlatform) -> Worker:
    return jobs.add_worker(concurrency=1)


def _submit(jobs: HandPlatform, handler: FunctionHandler, count: int, **fields: Any) -> list[Any]:
    return [jobs.submit(handler, {"n": n}, **fields) for n in range(count)]


def _ahead(jobs: HandPlatform, worker: Worker, *sent: Claimed) -> list[Claimed]:
    """One round while the worker says that the slots of these messages get short of work."""
    lines = {("default", message.slot) for message in sent if message.slot is not None}
    view = replace(worker.view, lines=sorted(lines))
    before = len(worker.sent)
    dispatch.round(view, worker.send, jobs.clock.now())
    return worker.sent[before:]


def _in_flight() -> QuerySet[Job]:
    return Job.objects.filter(state__in=[State.DISPATCHED, State.RUNNING])


def test_the_next_pack_is_sent_to_the_slot_of_the_one_that_runs(
    jobs: HandPlatform, short: FunctionHandler, worker: Worker
) -> None:
    _submit(jobs, short, 2 * packing.MOST)
    (first,) = worker.dispatch()
    (second,) = _ahead(jobs, worker, first)
    assert (first.jobs, second.jobs) == (250, 250)
    assert second.slot == first.slot and second.pack != first.pack
    assert limits.in_flight(worker.id).mine == 1
    worker.run(first)
    worker.run(second)
    assert Job.objects.filter(state=State.COMPLETED).count() == 500
    assert not Job.objects.filter(slot__isnull=False).exists()


def test_nothing_is_sent_ahead_without_a_line(
    jobs: HandPlatform, short: FunctionHandler, worker: Worker
) -> None:
    _submit(jobs, short, 2 * packing.MOST)
    worker.dispatch()
    assert _ahead(jobs, worker) == []


def test_with_packing_off_single_messages_take_turns_in_one_slot(
    jobs: HandPlatform, short: FunctionHandler, worker: Worker
) -> None:
    _submit(jobs, short, 3 * packing.LINE)
    with config.override(tasks={"packing": False}):
        sent = worker.dispatch()
        assert [message.jobs for message in sent] == [1] * packing.LINE
        assert len({message.slot for message in sent}) == 1 and {message.pack for message in sent} == {None}
        assert len({(message.job_id, message.lease) for message in sent}) == packing.LINE
        more = _ahead(jobs, worker, *sent)
    assert {message.slot for message in more} == {sent[0].slot}
    due = list(Job.objects.order_by("due_at", "id").values_list("id", flat=True))
    assert [message.job_id for message in [*sent, *more]] == due[: 2 * packing.LINE]
    assert limits.in_flight(worker.id).mine == 1
    while worker.sent:
        worker.run()
    assert Job.objects.filter(state=State.COMPLETED).count() == 2 * packing.LINE


def test_types_with_time_limits_take_turns_but_are_never_packed(jobs: HandPlatform, worker: Worker) -> None:
    @job("line.timed", timeout=30)
    def timed(n: int = 0) -> None: ...

    pace.write(timed.spec.key, 100, SHORT)
    _submit(jobs, timed, 100)
    sent = worker.dispatch()
    assert {(message.pack, message.jobs) for message in sent} == {(None, 1)}
    assert len(sent) == packing.LINE and len({message.slot for message in sent}) == 1


def test_counted_types_are_sent_one_by_one(jobs: HandPlatform, worker: Worker) -> None:
    @job("line.counted", max_concurrency=5)
    def counted(n: int = 0) -> None: ...

    pace.write(counted.spec.key, 100, SHORT)
    _submit(jobs, counted, 100)
    (sent,) = worker.dispatch()
    assert (sent.jobs, sent.slot) == (1, None)


def test_a_job_that_is_not_short_waits_for_a_free_slot_and_gets_it(
    jobs: HandPlatform, short: FunctionHandler, long: FunctionHandler, worker: Worker
) -> None:
    _submit(jobs, short, packing.MOST)
    (first,) = worker.dispatch()
    (waiting,) = _submit(jobs, long, 1, priority=Priority.NORMAL + 1)
    assert _ahead(jobs, worker, first) == [], "the slot is left to it"
    worker.run(first)
    (next_one,) = worker.dispatch()
    assert next_one.job_id == waiting


def test_a_long_job_of_low_priority_is_not_starved_by_a_line(
    jobs: HandPlatform, short: FunctionHandler, long: FunctionHandler, worker: Worker
) -> None:
    _submit(jobs, long, 1, priority=Priority.BACKGROUND)
    _submit(jobs, short, 4 * packing.MOST)
    sent = list(worker.dispatch())
    for _ in range(4):
        sent += _ahead(jobs, worker, sent[-1])
    assert len(sent) == 5 and sent[0].pack is not None
    transitions.start_pack(sent[0].pack, worker.id, 1, jobs.clock.now())
    jobs.advance(config.get().tasks.starvation_seconds)
    assert _ahead(jobs, worker, sent[-1]) == [], "it has waited too long: the slot is left to it"


def test_an_urgent_job_is_not_put_behind_short_ones(
    jobs: HandPlatform, short: FunctionHandler, worker: Worker
) -> None:
    _submit(jobs, short, packing.MOST)
    (first,) = worker.dispatch()
    _submit(jobs, short, 1, priority=Priority.USER_ACTION)
    assert _ahead(jobs, worker, first) == [], "the slot is left to it"


def test_a_slot_that_holds_nothing_any_more_is_not_given_twice(
    jobs: HandPlatform, short: FunctionHandler, long: FunctionHandler, worker: Worker
) -> None:
    _submit(jobs, short, 10)
    (first,) = worker.dispatch()
    worker.run(first)
    _submit(jobs, long, 5)
    assert len(_ahead(jobs, worker, first)) == 1


def test_a_type_that_was_suspended_is_not_sent_ahead(
    jobs: HandPlatform, short: FunctionHandler, worker: Worker
) -> None:
    _submit(jobs, short, 2 * packing.MOST)
    (first,) = worker.dispatch()
    control.suspend("type", short.spec.key, actor=ACTOR, reason="stop")
    assert _ahead(jobs, worker, first) == []


def test_those_behind_a_long_run_wait_again_uncharged(
    jobs: HandPlatform, short: FunctionHandler, worker: Worker
) -> None:
    _submit(jobs, short, 2 * packing.LINE)
    with config.override(tasks={"packing": False}):
        sent = worker.dispatch()
    begun = transitions.start(sent[0].job_id, sent[0].lease, jobs.clock.now(), worker_id=worker.id)
    assert begun is not None and sent[0].slot is not None
    given_back = dispatch.hand_back_line(sent[0].slot, jobs.clock.now())
    assert given_back == packing.LINE - 1
    assert _in_flight().count() == 1
    assert set(Job.objects.filter(state=State.PENDING).values_list("failures", "slot")) == {(0, None)}
    assert worker.run(sent[1]) is None, "its message does nothing any more"


def test_a_message_lost_from_a_line_is_sent_again_without_it(
    jobs: HandPlatform, short: FunctionHandler
) -> None:
    worker = jobs.add_worker(concurrency=2)
    _submit(jobs, short, 40)
    with config.override(tasks={"packing": False}):
        worker.dispatch()
    worker.sent.clear()
    jobs.clock.advance(config.get().tasks.resend_seconds + 1)
    worker.beat()
    again = worker.dispatch()
    assert again and {message.slot for message in again if message.lease == 2} == {None}


def test_a_lone_run_of_a_line_that_is_lost_is_charged_like_any_other(
    jobs: HandPlatform, short: FunctionHandler, worker: Worker
) -> None:
    _submit(jobs, short, 40)
    with config.override(tasks={"packing": False}):
        worker.dispatch()
    lost = worker.crash("start")
    assert (lost.state, lost.crashes, lost.slot) == (State.PENDING, 1, None)
    assert Job.objects.filter(crashes__gt=0).count() == 1


def test_a_line_does_not_use_up_the_reserved_slot(jobs: HandPlatform, short: FunctionHandler) -> None:
    worker = jobs.add_worker(concurrency=2)
    _submit(jobs, short, 200)
    with config.override(tasks={"packing": False, "reserved_high_priority_slots": 1}):
        sent = worker.dispatch()
        assert len({message.slot for message in sent}) == 1
        urgent = _submit(jobs, short, 1, priority=Priority.USER_ACTION)
        (now,) = worker.dispatch()
    assert now.job_id == urgent[0] and now.slot != sent[0].slot


def test_what_waits_for_its_turn_is_not_taken_for_lost(jobs: HandPlatform, short: FunctionHandler) -> None:
    worker = jobs.add_worker(concurrency=2)
    _submit(jobs, short, 40)
    with config.override(tasks={"packing": False}):
        sent = worker.dispatch()
    late = jobs.clock.now() + timedelta(seconds=config.get().tasks.resend_seconds + 1)
    slot = sent[0].slot
    assert slot is not None
    turning = replace(worker.view, turning=frozenset({slot}))
    assert dispatch.resend_lost(turning, worker.send, late) == 0
    assert dispatch.resend_lost(worker.view, worker.send, late) == len(sent), "nobody works there: it is"
