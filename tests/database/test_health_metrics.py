"""The numbers page: counted from rows, and totals that only grow."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from jobsplatform.kernel import clock, config, events, processes
from jobsplatform.models import Tally
from jobsplatform.telemetry import lines, metrics
from tasks.events import LeaseRejected
from tasks.models import Job, JobAttempt
from tasks.states import Hold, State
from tests.database.admin_support import build_job, make_attempt, make_job

pytestmark = pytest.mark.django_db
AGO = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    metrics.forget()
    with config.override(health_token="", tasks={"queues": ("default",)}):
        yield
    metrics.forget()


def page() -> dict[str, Any]:
    """Samples by name and labels, asked for anew."""
    metrics.forget()
    return cached_page()


def cached_page() -> dict[str, Any]:
    answer = Client().get("/metrics")
    assert answer.status_code == 200 and answer["Content-Type"].startswith("text/plain")
    found = {}
    for family in text_string_to_metric_families(answer.content.decode()):
        for sample in family.samples:
            labels = ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


def test_jobs_by_state() -> None:
    for state, count in ((State.PENDING, 3), (State.RUNNING, 1), (State.COMPLETED, 2)):
        for _ in range(count):
            make_job(state)
    samples = page()
    assert samples["jobsplatform_jobs{state=pending}"] == 3
    assert samples["jobsplatform_jobs{state=completed}"] == 2
    assert samples["jobsplatform_jobs{state=failed}"] == 0


def test_depth_and_age_count_only_what_could_start() -> None:
    now = clock.now()
    make_job(now=now - timedelta(seconds=90))
    make_job(now=now - timedelta(seconds=30))
    make_job(hold=Hold.LATER, due_at=now + AGO, now=now - timedelta(hours=1))
    make_job(queue="mail", now=now - timedelta(seconds=10))
    samples = page()
    assert samples["jobsplatform_queue_depth{queue=default}"] == 2
    assert samples["jobsplatform_queue_depth{queue=mail}"] == 1
    assert 89 <= samples["jobsplatform_oldest_pending_age_seconds{queue=default}"] <= 180


def test_an_empty_queue_is_shown_as_empty() -> None:
    samples = page()
    assert samples["jobsplatform_queue_depth{queue=default}"] == 0
    assert samples["jobsplatform_oldest_pending_age_seconds{queue=default}"] == 0


def test_slots_and_processes() -> None:
    now = clock.now()
    worker = processes.register("worker", name="a", now=now, concurrency=4)
    processes.register("worker", name="b", now=now - timedelta(minutes=9), concurrency=8)
    processes.register("web", name="c", now=now)
    make_job(State.RUNNING, worker_id=worker.id)
    samples = page()
    assert samples["jobsplatform_slots{kind=total}"] == 4
    assert samples["jobsplatform_slots{kind=busy}"] == 1
    assert samples["jobsplatform_slots{kind=reserved}"] == 1
    assert samples["jobsplatform_processes{role=worker,state=live}"] == 1
    assert samples["jobsplatform_processes{role=worker,state=stale}"] == 1
    assert samples["jobsplatform_processes{role=web,state=live}"] == 1


def test_totals_count_each_run_once_and_survive_a_restart() -> None:
    start = clock.now() - AGO
    job = make_job(State.COMPLETED, priority=1000, now=start)
    make_attempt(job, 1, "lose", started_at=start)
    make_attempt(job, 2, "complete", started_at=start + timedelta(seconds=3))
    first, second = page(), page()
    assert (
        first == second or first["jobsplatform_runs_lost_total{}"] == second["jobsplatform_runs_lost_total{}"]
    )
    labels = "job_type=demo.report,priority=user_action"
    assert (
        second["jobsplatform_runs_ended_total{job_type=demo.report,outcome=complete,priority=user_action}"]
        == 1
    )
    assert second["jobsplatform_runs_lost_total{}"] == 1
    assert second[f"jobsplatform_run_seconds_count{{{labels}}}"] == 2
    assert second[f"jobsplatform_run_seconds_sum{{{labels}}}"] == 4
    assert second[f"jobsplatform_wait_seconds_sum{{{labels}}}"] == 3
    JobAttempt.objects.all().delete()
    assert page()[f"jobsplatform_run_seconds_count{{{labels}}}"] == 2, "retention takes nothing back"


def test_a_run_that_has_just_ended_waits_for_the_next_question() -> None:
    job = make_job(State.COMPLETED)
    now = clock.now()
    make_attempt(job, started_at=now - timedelta(seconds=2), finished_at=now)
    assert metrics.carry_on(now).ended == {}
    assert sum(metrics.carry_on(now + timedelta(seconds=6)).ended.values()) == 1


def test_a_finish_time_in_the_future_holds_nobody_up() -> None:
    now = clock.now()
    make_attempt(make_job(State.COMPLETED), finished_at=now + timedelta(days=1))
    make_attempt(make_job(State.COMPLETED), started_at=now - AGO)
    assert sum(metrics.carry_on(now).ended.values()) == 2


def test_a_backlog_of_runs_is_taken_in_portions() -> None:
    now = clock.now()
    jobs = Job.objects.bulk_create(build_job(State.COMPLETED, now=now - AGO) for _ in range(7))
    for job in jobs:
        make_attempt(job)
    counts = [sum(metrics.carry_on(now, limit=3).ended.values()) for _ in range(4)]
    assert counts == [3, 6, 7, 7]


def test_cancel_latency_is_measured_from_the_request() -> None:
    start = clock.now() - AGO
    job = make_job(State.CANCELLED, cancel_reason="user", cancel_requested_at=start, now=start)
    make_attempt(job, 1, "stop", started_at=start, finished_at=start + timedelta(seconds=0.75))
    samples = page()
    assert samples["jobsplatform_cancel_latency_seconds_count{}"] == 1
    assert samples["jobsplatform_cancel_latency_seconds_sum{}"] == 0.75
    assert samples["jobsplatform_cancel_latency_seconds_bucket{le=1.0}"] == 1


def test_stale_leases_are_counted_wherever_they_are_refused() -> None:
    lines.install()
    for _ in range(2):
        events.deliver(LeaseRejected(uuid4(), 3, "finish"))
    assert page()["jobsplatform_stale_lease_rejects_total{where=finish}"] == 2


def test_a_tally_grows_from_nothing() -> None:
    Tally.add("x")
    Tally.add("x", 4)
    assert Tally.objects.get(name="x").value == 5


def test_answers_are_kept_for_a_moment() -> None:
    make_job()
    assert page()["jobsplatform_jobs{state=pending}"] == 1
    make_job()
    assert cached_page()["jobsplatform_jobs{state=pending}"] == 1
    assert page()["jobsplatform_jobs{state=pending}"] == 2


def test_hostile_names_stay_inside_their_label() -> None:
    name = 'x"} 1\nforged_total{a="b'
    make_job(queue=name)
    samples = page()
    assert not any(sample.startswith("forged") for sample in samples)


def test_the_token_guards_the_page() -> None:
    with config.override(health_token="a-token-of-the-operators"):
        assert Client().get("/metrics").status_code == 401
        assert Client().get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 401
        answer = Client().get("/metrics", headers={"Authorization": "Bearer a-token-of-the-operators"})
        assert answer.status_code == 200


def test_without_a_database_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise DatabaseError("host db.internal")

    monkeypatch.setattr(metrics, "families", away)
    answer = Client().get("/metrics")
    assert answer.status_code == 503 and b"db.internal" not in answer.content


@pytest.mark.postgres
def test_many_ended_jobs_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "EXACT_COUNT", 5)
    Job.objects.bulk_create(build_job(State.COMPLETED) for _ in range(20))
    assert metrics.ended_count(State.COMPLETED) >= 6
