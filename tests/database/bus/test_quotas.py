"""What an app may do in a minute, for itself and over processes."""

import pytest
from redis import Redis

from jobsplatform.kernel import config, quotas
from jobsplatform.kernel.errors import InvalidInput, UnknownName
from jobsplatform.testing.platform import HandPlatform
from tasks.models import AppEvent, ExternalJob, Job
from tests.database.bus.client import MakeClient


def test_jobs_above_the_quota_are_refused_until_it_has_filled_again(
    bus_client: MakeClient, scan, jobs: HandPlatform
):
    video = bus_client("video", quotas={"creates_per_minute": 6})
    for _ in range(6):
        video.ok("jobs.create", {"job_type": "scan"})
    answer = video.call("jobs.create", {"job_type": "scan"})
    assert (answer.code, answer.headers["Retry-After"]) == ("RATE_LIMITED", "10")
    assert answer.body["error"]["details"] == {"quota": "creates_per_minute", "retry_after": 10}
    assert Job.objects.count() == 6
    jobs.advance(10)
    video.ok("jobs.create", {"job_type": "scan"})
    video.ok("jobs.query")


def test_a_batch_is_let_through_whole_and_waited_for(bus_client: MakeClient, scan, jobs: HandPlatform):
    video = bus_client("video", quotas={"creates_per_minute": 10})
    video.ok("jobs.create_many", {"jobs": [{"job_type": "scan"}] * 20})
    answer = video.call("jobs.create", {"job_type": "scan"})
    jobs.advance(float(answer.headers["Retry-After"]))
    video.ok("jobs.create", {"job_type": "scan"})


def test_each_app_and_each_quota_is_counted_by_itself(bus_client: MakeClient, scan, other_scan):
    video = bus_client("video", quotas={"creates_per_minute": 1, "events_per_minute": 1})
    video.ok("jobs.create", {"job_type": "scan"})
    video.refused("RATE_LIMITED", "jobs.create", {"job_type": "scan"})
    bus_client("video").refused("RATE_LIMITED", "jobs.create", {"job_type": "scan"})
    video.ok("events.emit", {"user_id": "1", "kind": "k"})
    video.refused("RATE_LIMITED", "events.emit", {"user_id": "1", "kind": "k"})
    assert AppEvent.objects.count() == 1
    bus_client("music").ok("jobs.create", {"job_type": "scan"})


def test_what_is_refused_for_its_fields_costs_nothing(bus_client: MakeClient, scan):
    video = bus_client("video", quotas={"creates_per_minute": 1})
    video.refused("INVALID", "jobs.create", {})
    video.ok("jobs.create", {"job_type": "scan"})


def test_settings_are_for_those_who_have_none_of_their_own(bus_client: MakeClient, scan):
    with config.override(bus={"creates_per_minute": 1}):
        video = bus_client("video", quotas={"creates_per_minute": "many"})
        video.ok("jobs.create", {"job_type": "scan"})
        video.refused("RATE_LIMITED", "jobs.create", {"job_type": "scan"})


def test_processes_count_together_in_redis(redis_url: str):
    with config.override(redis_url=redis_url):
        here, there = quotas._Redis(redis_url), quotas._Redis(redis_url)
        taken = [each.take("creates:together", 1, 4 / 60) for each in (here, there) * 4]
    assert [wait == 0 for wait in taken] == [True] * 4 + [False] * 4
    assert 0 < taken[4] <= 16


def test_of_a_large_quota_a_process_takes_a_little_at_once_and_never_more_than_there_is(redis_url: str):
    with config.override(redis_url=redis_url):
        here, there = quotas._Redis(redis_url), quotas._Redis(redis_url)
        rate = 100.0  # ten at once of six thousand
        before = Redis.from_url(redis_url).info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0)
        taken = [each.take("creates:lots", 1, rate) for each in (here, there) * 500]
        asked = Redis.from_url(redis_url).info("commandstats")["cmdstat_evalsha"]["calls"] - before
        assert sum(taken) == 0 and 80 <= asked <= 120
        assert here.take("creates:lots", 6_000, rate) == 0, (
            "whatever begins while one is left is let through whole"
        )
        assert here.take("creates:lots", 11, rate) > 0
        passed = [there.take("creates:lots", 1, rate) == 0 for _ in range(20)]
        assert not any(passed[10:]), "what it had taken before, and no more"


def test_without_its_redis_each_process_counts_for_itself():
    quotas.forget()
    with config.override(redis_url="redis://127.0.0.1:1/0"):
        assert [quotas.take("creates", "alone", 1, 1) == 0 for _ in range(2)] == [True, False]
    quotas.forget()


@pytest.mark.parametrize(
    "own", [[], {"creates_per_minute": 0}, {"creates_per_minute": True}, {"payload_bytes": "1"}]
)
def test_wrong_quotas_of_an_app(own):
    with pytest.raises(InvalidInput):
        quotas.check(own)


def test_an_unknown_quota_of_an_app():
    with pytest.raises(UnknownName, match="creates_per_minute"):
        quotas.check({"create_per_minute": 5})
    assert quotas.check({"creates_per_minute": 5}) == {"creates_per_minute": 5}


def test_calls_of_task_queue_are_counted_by_themselves(bus_client: MakeClient, jobs: HandPlatform):
    video = bus_client("video", quotas={"events_per_minute": 2})
    video.ok("events.emit", {"user_id": "1", "kind": "k"})
    video.ok("task_queue.upsert_job", {"job_id": "7"})
    video.ok("task_queue.update_progress", {"job_id": "7", "progress": 1})
    for method in ("upsert_job", "complete_job"):
        error = video.refused("RATE_LIMITED", f"task_queue.{method}", {"job_id": "7"})
        assert error["details"]["quota"] == "task_queue_per_minute"
    assert ExternalJob.objects.get().progress == 1
