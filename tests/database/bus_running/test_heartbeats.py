"""A sidecar's life: what it names, what it forgot, its death and its end in good order."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError

from jobsplatform.kernel import clock, config, processes
from jobsplatform.kernel.models import Process
from jobsplatform.testing.platform import HandPlatform
from tasks import finish, remote, rescue
from tasks.bus.keeper import Keeper
from tasks.models import Job
from tests.database.bus_running.conftest import Side, key

pytestmark = pytest.mark.django_db


def lease() -> float:
    """Seconds."""
    return config.get().tasks.lease_seconds


def row(side: Side) -> Process:
    """The sidecar's newest incarnation."""
    return Process.objects.filter(role="sidecar", app_id="video").order_by("-started_at", "-id")[0]


def open_door(jobs: HandPlatform) -> Process:
    """A web process that has been there for long."""
    made = processes.register("web", name="web@test", now=clock.now())
    jobs.advance(3 * lease())
    processes.beat(made.pk, clock.now())
    return made


def test_a_sidecar_is_a_process_of_its_app(side: Side):
    side.claim(name="media-1", version="1.2", limit=1, capacity=3)
    process = row(side)
    assert (process.name, process.version, process.concurrency) == ("media-1", "1.2", 3)
    assert (process.queues, process.handlers) == (["bus.video"], ["video:scrape"])


def test_a_claim_whose_answer_was_lost_is_handed_back(side: Side, jobs: HandPlatform):
    run = side.run()
    side.beat()
    jobs.advance(lease() / 2)
    side.beat()
    assert side.job(run)["status"] == "running"
    jobs.advance(lease() / 2)
    side.beat()
    job = Job.objects.get(id=run["id"])
    assert (job.state, job.reason, job.failures, job.losses) == ("pending", remote.NOT_NAMED, 0, 0)
    assert key(side.claim()[0])["lease"] == run["lease"] + 1


def test_a_run_that_is_named_stays_however_long(side: Side, jobs: HandPlatform):
    run = side.run()
    for _ in range(10):
        jobs.advance(lease() / 2)
        assert side.beat(run)["runs"][0]["held"]
    assert side.end(run, "completed")["state"] == "completed"


def test_a_cancelled_run_that_nobody_knows_of_is_cancelled(side: Side, jobs: HandPlatform):
    run = side.run()
    side.client.ok("jobs.cancel", {"id": run["id"]})
    side.beat()
    jobs.advance(lease())
    side.beat()
    assert side.job(run)["status"] == "cancelled"


def test_a_silent_sidecar_is_lost_and_its_jobs_with_it(side: Side, jobs: HandPlatform):
    open_door(jobs)
    run = side.run()
    jobs.advance(lease() + 1)
    processes.beat(Process.objects.get(role="web").pk, clock.now())
    assert rescue.rescue_dead(clock.now(), lease()) == 1
    job = Job.objects.get(id=run["id"])
    assert (job.state, job.losses, job.failures) == ("pending", 1, 0)
    side.client.refused("LEASE_LOST", "jobs.update_status", {**run, "ending": {"kind": "completed"}})
    # It was only away: it goes on, as a new incarnation.
    assert side.beat(run)["runs"][0]["held"] is False
    assert side.claim()[0]["job"]["id"] == run["id"]
    assert Process.objects.filter(role="sidecar", app_id="video").count() == 2


def test_a_sidecar_is_not_judged_while_the_bus_was_away(side: Side, jobs: HandPlatform):
    door = open_door(jobs)
    run = side.run()
    jobs.advance(lease() + 1)  # the web is silent as well
    rescue.rescue_dead(clock.now(), lease())
    assert side.job(run)["status"] == "running"
    processes.stop(door.pk, clock.now())
    processes.register("web", name="web@test", now=clock.now())
    rescue.rescue_dead(clock.now(), lease())
    assert side.job(run)["status"] == "running"
    assert side.beat(run)["runs"][0]["held"]


def test_a_sidecar_that_stops_gets_nothing_more_and_ends(side: Side):
    run = side.run()
    side.create()
    side.beat(run, stopping=True)
    assert side.claim(capacity=5) == []
    assert row(side).stopping
    side.end(run, "interrupted", reason="deploy")
    side.beat(stopping=True)
    assert row(side).stopped_at is not None
    assert Job.objects.filter(state="pending").count() == 2


def test_what_a_sidecar_still_holds_when_it_ends_waits_again(side: Side):
    run = side.run()
    side.beat(stopping=True)
    assert (Job.objects.get(id=run["id"]).state, Job.objects.get(id=run["id"]).losses) == ("pending", 0)


def test_every_word_of_a_run_is_a_heartbeat(side: Side, jobs: HandPlatform):
    run = side.run()
    jobs.advance(lease() / 2)
    side.client.ok("jobs.update_progress", {**run, "done": 1})
    assert row(side).heartbeat_at == clock.now()


@pytest.mark.parametrize(("role", "app_id"), [("worker", ""), ("sidecar", ""), ("sidecar", "music")])
@pytest.mark.parametrize("word", ["beat", "progress", "end"])
def test_no_word_of_a_run_keeps_a_process_alive_that_is_no_sidecar_of_the_app(
    side: Side, jobs: HandPlatform, role: str, app_id: str, word: str
):
    run = side.run()
    holder = processes.register(role, name="dead", now=clock.now(), concurrency=2)
    Process.objects.filter(pk=holder.pk).update(app_id=app_id)
    Job.objects.filter(id=run["id"]).update(worker_id=holder.pk)
    jobs.advance(lease() + 1)
    if word == "beat":
        assert side.beat(run)["runs"][0]["held"]
    elif word == "progress":
        side.client.ok("jobs.update_progress", {**run, "done": 1})
    else:
        side.end(run, "completed")
    holder.refresh_from_db()
    assert holder.heartbeat_at == holder.started_at
    assert holder in processes.silent(clock.now(), lease())


def test_runs_past_limit_or_grace_end_and_their_late_words_are_refused(side: Side, jobs: HandPlatform):
    side.bind("limited", timeout=30.0, max_attempts=1)
    side.create("limited")
    (given,) = side.claim("limited", capacity=5)
    assert given["deadline_at"] is not None
    side.create()
    told = key(side.claim(capacity=5)[0])
    side.client.ok("jobs.cancel", {"id": told["id"]})
    assert remote.sweep(clock.now()) == 0
    jobs.advance(31)
    assert remote.sweep(clock.now()) == 2
    late = Job.objects.get(id=given["job"]["id"])
    assert (late.state, late.cause) == ("failed", "timeout")
    assert side.job(told)["status"] == "cancelled"
    for run in (key(given), told):
        side.client.refused("LEASE_LOST", "jobs.update_progress", {**run, "done": 1})


def test_a_soft_limit_is_told_as_a_cancel(side: Side, jobs: HandPlatform):
    side.bind("soft", soft_timeout=10.0, timeout=60.0)
    side.create("soft")
    (given,) = side.claim("soft")
    run = key(given)
    assert side.beat(run)["runs"][0]["cancel"] is None
    jobs.advance(11)
    assert side.beat(run)["runs"][0]["cancel"] == "timeout"
    assert side.end(run, "cancelled")["state"] == "pending"
    assert Job.objects.get(id=run["id"]).failures == 1


def test_jobs_given_and_never_begun_wait_again(side: Side, jobs: HandPlatform):
    run = side.run()
    now = clock.now()
    Job.objects.filter(id=run["id"]).update(state="dispatched", dispatched_at=now)
    jobs.advance(config.get().tasks.resend_seconds + 1)
    assert remote.sweep(clock.now()) == 1
    assert Job.objects.get(id=run["id"]).state == "pending"


def test_an_id_of_another_process_is_of_no_use(side: Side):
    worker = processes.register("worker", name="w@test", now=clock.now(), concurrency=1)
    side.runner_id = str(worker.pk)
    side.beat(stopping=True)
    side.runner_id = str(uuid4())
    worker.refresh_from_db()
    assert worker.stopped_at is None
    assert timedelta(0) == worker.heartbeat_at - worker.started_at


def test_without_a_worker_the_web_rescues(side: Side, jobs: HandPlatform):
    open_door(jobs)
    keeper = Keeper()
    run = side.run()
    for _ in range(4):
        jobs.advance(lease() / 2)
        processes.beat(Process.objects.get(role="web").pk, clock.now())
        keeper.step()
    job = Job.objects.get(id=run["id"])
    assert (job.state, job.losses) == ("pending", 1)


def test_the_web_leaves_it_to_the_workers_where_there_are_some(side: Side, jobs: HandPlatform):
    open_door(jobs)
    keeper, worker = Keeper(), jobs.add_worker()
    run = side.run()
    for _ in range(4):
        jobs.advance(lease() / 2)
        processes.beat(Process.objects.get(role="web").pk, clock.now())
        processes.beat(worker.id, clock.now())
        keeper.step()
    assert side.job(run)["status"] == "running"


class Failing:
    """In the place of a function: fails for one job, and does its work for all others."""

    def __init__(self, real: Callable[..., Any], job_id: str, error: Exception) -> None:
        self.real, self.job_id, self.error = real, job_id, error

    def __call__(self, job_id: UUID, *more: Any, **named: Any) -> Any:
        if str(job_id) == self.job_id:
            raise self.error
        return self.real(job_id, *more, **named)


@pytest.mark.parametrize("kind", ["overdue", "unbegun", "deferred", "lost"])
def test_a_job_that_cannot_be_swept_stops_no_other(side: Side, jobs: HandPlatform, monkeypatch, kind: str):
    step, module, name = {
        "overdue": (remote.sweep, finish, "timed_out"),
        "unbegun": (remote.sweep, remote, "hand_back"),
        "deferred": (rescue.end_overdue, finish, "from_outside"),
        "lost": (rescue.take_back_orphans, finish, "lost"),
    }[kind]
    side.bind(timeout=10.0)
    side.create(), side.create()
    first, second = map(key, side.claim(limit=2, capacity=5))
    rows = Job.objects.filter(id__in=[first["id"], second["id"]])
    if kind == "deferred":
        for run in (first, second):
            side.end(run, "deferred", deadline_seconds=5.0)
    elif kind == "unbegun":
        rows.update(state="dispatched", dispatched_at=clock.now(), deadline_at=None)
    elif kind == "lost":
        processes.stop(row(side).pk, clock.now())
    jobs.advance(1000)
    real = getattr(module, name)
    monkeypatch.setattr(module, name, Failing(real, first["id"], OverflowError("too far")))
    assert step(clock.now()) == 1
    assert side.job(second)["status"] != side.job(first)["status"]
    monkeypatch.setattr(module, name, Failing(real, first["id"], OperationalError("gone")))
    with pytest.raises(OperationalError):
        step(clock.now())
    monkeypatch.setattr(module, name, real)
    assert step(clock.now()) == 1
