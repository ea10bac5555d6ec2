"""Jobs that are brought to their sidecars while a worker ends, a binding changes, or the sidecar is away."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.models import Process
from jobsplatform.testing.platform import HandPlatform
from tasks import remote
from tasks.bus import bindings, callback, celery_queue, unreached
from tasks.bus.delivery import Deliverer
from tasks.bus.leaving import Leaving
from tasks.models import HandlerBinding, Job
from tasks.outcomes import Ending
from tasks.worker.crew import Crew
from tests.database.bus_running.conftest import Side
from tests.database.bus_running.test_callback import ACTOR, Sidecar, bound, called, given, private, sidecar

__all__ = ["private", "sidecar"]

pytestmark = pytest.mark.django_db


def standing(job_id: str) -> tuple[str, int, int]:
    """Its state, and what it has used up."""
    job = Job.objects.get(id=job_id)
    return job.state, job.failures, job.losses


@pytest.mark.usefixtures("private")
def test_what_is_not_sent_yet_is_handed_back_and_what_is_sent_may_be_answered(side: Side, sidecar: Sidecar):
    handler = bound(side, sidecar)
    leaving = Leaving()
    sidecar.on_call = leaving.asked.set
    ending = callback.call(given(side), handler, leaving)
    assert ending is not None and ending.kind == "completed"
    assert callback.call(given(side), handler, leaving) is None
    assert celery_queue.send(given(side), handler, leaving) is None
    assert len(sidecar.calls) == 1


@pytest.mark.usefixtures("private")
def test_who_is_in_a_hurry_waits_for_no_answer(side: Side, sidecar: Sidecar):
    handler = bound(side, sidecar)
    leaving = Leaving()
    sidecar.hold.clear()
    sidecar.on_call = leaving.over.set
    assert callback.call(given(side), handler, leaving) is None


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("private")
def test_a_worker_that_ends_waits_for_the_answer_to_what_it_has_sent(side: Side, sidecar: Sidecar):
    bound(side, sidecar, on_interrupt="cancel")
    sent = side.create("called")
    there = threading.Event()
    sidecar.on_call = there.set
    sidecar.hold.clear()
    deliverer = Deliverer("http", callback.call)
    deliverer.step()
    assert there.wait(30)
    deliverer.close()
    unsent = side.create("called")
    assert not deliverer.step()
    assert Process.objects.get(role="sidecar", app_id="", stopped_at=None).stopping
    stopping = threading.Thread(target=deliverer.stop, args=(5,))
    stopping.start()
    sidecar.hold.set()
    stopping.join(60)
    assert not stopping.is_alive()
    assert standing(sent) == ("completed", 0, 0)
    assert standing(unsent) == ("pending", 0, 0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("private")
def test_what_a_worker_has_claimed_and_not_sent_waits_again_free_of_charge(side: Side, sidecar: Sidecar):
    bound(side, sidecar, on_interrupt="cancel")
    job_id = side.create("called")
    deliverer = Deliverer("http", callback.call)
    taken: list[Job] = []
    deliverer._take = taken.append  # type: ignore[method-assign]
    deliverer.step()
    deliverer.close()
    deliverer._busy += 1
    deliverer._do(taken[0])
    assert standing(job_id) == ("pending", 0, 0)
    assert sidecar.calls == []
    deliverer.stop(5)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("change", ["url", "transport", "off", "gone"])
def test_a_binding_that_changes_before_its_job_is_brought_costs_nothing(
    side: Side, sidecar: Sidecar, change: str
):
    bound(side, sidecar)
    job_id = side.create("called")

    def bring(*_: Any) -> Any:
        raise AssertionError("it was brought nevertheless")

    deliverer = Deliverer("http", bring)
    taken: list[Job] = []
    deliverer._take = taken.append  # type: ignore[method-assign]
    deliverer.step()
    body = {"job_type": "called", "service": "media"}
    if change == "url":
        side.client.ok(
            "jobs.register_handler", {**body, "transport": "http", "url": f"{sidecar.url}/elsewhere"}
        )
    elif change == "transport":
        side.client.ok("jobs.register_handler", body)
    elif change == "off":
        row = HandlerBinding.objects.get(job_type="called")
        bindings.set_enabled(row.pk, False, actor=ACTOR, now=clock.now())
    else:
        side.client.ok("jobs.unregister_handler", {"job_type": "called"})
    deliverer._busy += 1
    deliverer._do(taken[0])
    assert standing(job_id) == ("pending", 0, 0)
    deliverer.stop(5)


@pytest.mark.usefixtures("private")
def test_a_sidecar_that_is_away_is_called_again_free_of_charge_for_a_while(
    side: Side, sidecar: Sidecar, jobs: HandPlatform
):
    handler = bound(side, sidecar, max_attempts=2)
    sidecar.shutdown()  # else its thread keeps the socket for a while
    sidecar.server_close()
    job = given(side)
    waits = []
    for _ in range(3):
        ending = called(job, handler)
        assert (ending.kind, ending.error_type) == ("snoozed", unreached.ERROR_TYPE)
        assert ending.after is not None
        waits.append(ending.after)
        job = again(job, ending)
        assert job.failures == 0
    assert waits == sorted(waits) and waits[0] >= unreached.SHORTEST_SECONDS
    jobs.advance(config.get().bus.deferred_seconds)
    ending = called(job, handler)
    assert (ending.kind, ending.error_type, ending.retryable) == ("failed", unreached.ERROR_TYPE, True)


@pytest.mark.usefixtures("private")
def test_a_sidecar_that_was_there_meanwhile_is_given_the_whole_while_again(
    side: Side, sidecar: Sidecar, jobs: HandPlatform
):
    handler = bound(side, sidecar)
    job = given(side)
    job = again(job, unreached.ending(job, handler, "refused", clock.now()))
    jobs.advance(config.get().bus.deferred_seconds)
    sidecar.answer = (503, b"")
    busy = called(job, handler)
    assert busy.kind == "failed"
    job = again(job, busy)
    assert unreached.ending(job, handler, "refused", clock.now()).kind == "snoozed"


def again(job: Job, ending: Ending) -> Job:
    """The next run of the job, after this end of the last."""
    remote.end("video", job.id, job.lease, ending, clock.now())
    Job.objects.filter(id=job.id).update(
        state="running", hold="", worker_id=job.id, lease=job.lease + 1, started_at=clock.now()
    )
    return Job.objects.get(id=job.id)


class Spy:
    """Writes down what is asked of it."""

    def __init__(self, told: list[str], name: str) -> None:
        self._told, self._name = told, name

    def __getattr__(self, what: str) -> Any:
        return lambda *_: self._told.append(f"{self._name}.{what}")


@pytest.mark.parametrize("hurry", [False, True])
def test_a_drain_stops_sending_first_and_waits_for_answers_last(hurry: bool):
    told: list[str] = []
    crew = Crew(SimpleNamespace(consumer=None))
    crew.dispatcher, crew._deliverers = Spy(told, "dispatcher"), [Spy(told, "bus")]  # type: ignore[assignment, list-item]
    crew._watchdog, crew._heartbeat = Spy(told, "watchdog"), Spy(told, "heartbeat")  # type: ignore[assignment]
    crew.sender = Spy(told, "sender")  # type: ignore[assignment]
    crew.incarnation = SimpleNamespace(id=None, queues=[])  # type: ignore[assignment]
    crew.take_nothing_new()
    assert told == ["dispatcher.stop", "bus.close"]
    crew.drain._hurry = hurry
    crew.leave()
    ends = ["bus.hurry", "bus.stop"] if hurry else ["bus.stop"]
    assert told[2:] == [*ends, "watchdog.stop", "heartbeat.stop", "sender.remove_queue"]
