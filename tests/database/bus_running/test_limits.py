"""Sidecars get jobs by the rules that workers do."""

from __future__ import annotations

import pytest

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.audit import Actor
from jobsplatform.testing.platform import HandPlatform
from tasks import control
from tasks.bus import runner
from tasks.models import Job
from tests.database.bus.client import MakeClient
from tests.database.bus_running.conftest import Side, key

pytestmark = pytest.mark.django_db
ACTOR = Actor("op", "user")


def test_the_most_urgent_goes_first(side: Side):
    side.create(priority=0)
    urgent = side.create(priority="user_action")
    assert side.claim()[0]["job"]["id"] == urgent


def test_a_sidecar_with_one_slot_runs_ordinary_jobs_beside_a_busy_one(side: Side, bus_client: MakeClient):
    assert config.get().tasks.reserved_high_priority_slots == 1
    side.bind("other")
    for _ in range(5):
        side.create("other")
    assert len(side.claim("other", limit=4, capacity=4)) == 3  # one stays for urgent jobs
    small = Side(side.client)
    small.create()
    assert len(small.claim(limit=1)) == 1


def test_no_more_than_its_capacity(side: Side):
    for _ in range(5):
        side.create(priority="user_action")
    assert len(side.claim(limit=5, capacity=3)) == 3
    assert side.claim(limit=5, capacity=3) == []


def test_an_exclusive_type_runs_once_whoever_asks(side: Side):
    side.bind("only", exclusive=True)
    side.create("only")
    side.create("only")
    (given,) = side.claim("only", limit=2, capacity=9)
    assert Side(side.client).claim("only", limit=2, capacity=9) == []
    side.end(key(given), "completed")
    assert len(side.claim("only", capacity=9)) == 1


def test_concurrency_keys_and_type_limits_hold(side: Side):
    side.bind("keyed", concurrency_key="k:{k}", max_concurrency=3)
    for name in "aabbcc":
        side.create("keyed", {"k": name})
    given = [each for _ in range(4) for each in side.claim("keyed", limit=9, capacity=20)]
    assert sorted(each["job"]["params"]["k"] for each in given) == ["a", "b", "c"]


@pytest.mark.parametrize(("scope", "target"), [("all", ""), ("app", "video"), ("type", "video:scrape"),
                                               ("queue", "bus.video")])  # fmt: skip
def test_nothing_starts_while_it_is_suspended(side: Side, scope: str, target: str):
    side.create()
    control.suspend(scope, target, actor=ACTOR, reason="test")
    assert side.claim() == []


def test_a_suspension_that_interrupts_is_told(side: Side):
    run = side.run()
    control.suspend("app", "video", actor=ACTOR, reason="test", interrupt=True)
    assert side.beat(run)["runs"][0]["cancel"] == "suspended"
    assert side.end(run, "cancelled")["state"] == "pending"
    assert Job.objects.get(id=run["id"]).failures == 0


def test_an_urgent_job_makes_a_preemptible_one_give_way(side: Side):
    side.bind("slow", preemptible=True)
    side.create("slow", priority=0)
    (slow,) = side.claim("slow")
    side.create(priority="user_action")
    assert side.claim() == []
    assert side.beat(key(slow))["runs"][0]["cancel"] == "preempted"
    side.client.ok("jobs.checkpoint", {**key(slow), "cursor": 7})
    assert side.end(key(slow), "cancelled")["state"] == "pending"
    urgent = side.claim("scrape", "slow")[0]
    assert urgent["job"]["job_type"] == "scrape"
    side.end(key(urgent), "completed")
    assert side.claim("slow")[0]["cursor"] == 7


def test_a_retry_comes_when_its_time_has(side: Side, jobs: HandPlatform):
    run = side.run()
    side.end(run, "retry", after=60.0, error="later")
    assert side.claim() == []
    jobs.advance(61)
    (again,) = side.claim()
    assert (again["attempt"], again["run_reason"]) == (2, "retry")


def test_short_jobs_are_not_packed_for_a_sidecar(side: Side):
    for _ in range(30):
        side.create()
    given = side.claim(limit=2, capacity=9)
    assert len(given) == 2
    assert Job.objects.filter(state="pending").count() == 28


def test_a_job_past_its_latest_start_never_begins(side: Side, jobs: HandPlatform):
    late = clock.now()
    job_id = side.create(latest_start_at=late.isoformat())
    jobs.advance(1)
    assert side.claim() == []
    assert Job.objects.get(id=job_id).state == "cancelled"


def test_ten_thousand_children_in_one_call(side: Side):
    run = side.run()
    children = [{"job_type": "scrape", "params": {"n": n}} for n in range(10_000)]
    made = side.client.ok("jobs.batch_children", {**run, "children": children})
    assert len(set(made["ids"])) == 10_000
    assert Job.objects.filter(parent_id=run["id"]).count() == 10_000
    assert side.client.refused(
        "INVALID", "jobs.batch_children", {**run, "children": [*children, {"job_type": "scrape"}]}
    )


def test_an_app_begins_few_incarnations_in_a_minute(side: Side, jobs: HandPlatform, monkeypatch):
    monkeypatch.setattr(runner, "MOST_NEW_A_MINUTE", 2)
    side.claim()
    Side(side.client).beat()
    third = Side(side.client)
    for method, body in (("jobs.claim", {"job_types": ["scrape"]}), ("jobs.heartbeat", {})):
        side.client.refused("RATE_LIMITED", method, {"runner_id": third.runner_id, **body})
    side.claim()
    jobs.advance(30)
    third.claim()
