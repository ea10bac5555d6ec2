"""How many statements a job costs, and which plan its hot queries have: guarded, so that neither grows unseen."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobsplatform.testing.platform import HandPlatform
from tasks import admission, dispatch, latest_start, pace, queries, submit
from tasks.handlers import FunctionHandler, job
from tasks.models import Job
from tasks.requests import JobRequest
from tasks.sql import claim as sql
from tasks.sql import writes

pytestmark = pytest.mark.postgres


@pytest.fixture
def plain(jobs: HandPlatform) -> FunctionHandler:
    @job("count.plain")
    def plain(n: int = 0) -> int:
        return n

    pace.forget()
    return plain


def statements(act: Callable[[], Any]) -> list[str]:
    """What ``act`` sent to the database, without the marks of transactions."""
    with CaptureQueriesContext(connection) as seen:
        act()
    marks = ("SAVEPOINT", "RELEASE", "BEGIN", "COMMIT")
    return [q["sql"] for q in seen.captured_queries if not q["sql"].startswith(marks)]


def test_a_submit_is_one_statement(jobs: HandPlatform, plain: FunctionHandler) -> None:
    assert len(statements(lambda: submit.enqueue("count.plain", {"n": 1}))) == 1


def test_a_run_is_two_statements(jobs: HandPlatform, plain: FunctionHandler) -> None:
    for _ in range(2):  # the first run of a process reads its worker's name
        jobs.submit(plain, {"n": 1})
        jobs.worker.dispatch()
        sent = statements(jobs.worker.run)
    hot = [text for text in sent if "typepace" not in text]  # about one a second, whatever the number of jobs
    assert len(hot) == 2, hot


def test_a_pack_is_a_constant_number_of_statements(jobs: HandPlatform, plain: FunctionHandler) -> None:
    pace.write(plain.spec.key, 100, 0.0001)
    counts = []
    for size in (50, 50, 400):
        submit.submit_many([JobRequest("count.plain", {"n": n}) for n in range(size)])
        jobs.add_worker(concurrency=1) if not jobs.workers else None
        (message,) = jobs.worker.dispatch()
        assert message.jobs == size
        counts.append(len([s for s in statements(jobs.worker.run) if "typepace" not in s]))
    assert counts[2] <= counts[1] + 2, counts


def test_a_claim_round_does_not_grow_with_the_backlog(jobs: HandPlatform, plain: FunctionHandler) -> None:
    view = jobs.add_worker(concurrency=2).view
    counts = []
    for _ in range(3):
        submit.submit_many([JobRequest("count.plain", {"n": n}) for n in range(500)])
        counts.append(len(statements(lambda: dispatch.claim(view, jobs.clock.now()))))
        Job.objects.filter(state="dispatched").delete()
    assert counts[1] == counts[2] <= 12, counts  # the first round makes the lock rows


def _plan(text: str, params: list[Any]) -> str:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE tasks_job")
        cursor.execute(f"EXPLAIN {text}", params)
        return "\n".join(line for (line,) in cursor.fetchall())


def test_the_claim_walks_its_own_index(jobs: HandPlatform, plain: FunctionHandler) -> None:
    submit.submit_many([JobRequest("count.plain", {"n": n}) for n in range(3000)])
    groups = _plan(sql._GROUPS, ["default"] * 4)
    assert "job_claim" in groups and "Seq Scan on tasks_job" not in groups, groups
    one = _plan(sql._ONE_GROUP, ["default", ":count.plain", 100, 8])
    assert "job_claim" in one and "Seq Scan" not in one and "Sort" not in one, one


def test_looks_at_overlap_keys_and_latest_starts_walk_their_own_indexes(
    jobs: HandPlatform, plain: FunctionHandler
) -> None:
    submit.submit_many([JobRequest("count.plain", {"n": n}) for n in range(3000)])
    later = jobs.clock.now() + timedelta(hours=1)
    for key in ("a", "b"):
        wish = {"overlap": "buffer_all", "overlap_key": key, "latest_start_at": later}
        submit.submit_many([JobRequest("count.plain", {"n": n}, **wish) for n in range(50)])
    submit.submit_many([JobRequest("count.plain", {"n": n}, schedule_id="s") for n in range(1000)])
    now = jobs.clock.now()
    Job.objects.filter(schedule_id="s").update(state="completed", finished_at=now)
    looks = [
        (lambda: admission.admit(["a"], now), "job_overlap"),
        (lambda: admission.sweep(now), "job_overlap"),
        (lambda: latest_start.sweep(now), "job_latest_start"),
        (lambda: queries.unfinished_of_schedule("s", ""), "job_schedule_ends"),
        (lambda: queries.last_of_schedule("s", ""), "job_schedule_ends"),
        (lambda: queries.recent_ends("s", "", 3), "job_schedule_ends"),
    ]
    for look, index in looks:
        plans = [_plan(s, []) for s in statements(look) if s.startswith("SELECT") and "tasks_job" in s]
        assert plans and all(index in plan and "Seq Scan on tasks_job " not in plan for plan in plans), plans


def test_an_end_is_found_by_its_id_however_rare_running_jobs_are(
    jobs: HandPlatform, plain: FunctionHandler
) -> None:
    """By their state the planner would walk all that ran since the last vacuum, for each job of a part."""
    submit.submit_many([JobRequest("count.plain", {"n": n}) for n in range(3000)])
    ids = Job.objects.values_list("id", flat=True)[:50]
    part = "{" + ",".join(one.hex for one in ids) + "}"
    ones, nulls = "{" + ",".join(["1"] * 50) + "}", "{" + ",".join(["NULL"] * 50) + "}"
    times = "{" + ",".join([jobs.clock.now().isoformat()] * 50) + "}"
    plan = _plan(writes._COMPLETE, [part, ones, nulls, nulls, times, times, None, None, "w"])
    assert not [name for name in ("job_by_state", "job_in_flight", "job_owner") if name in plan], plan
