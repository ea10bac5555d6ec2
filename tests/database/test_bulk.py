"""Many jobs in one call: the same rows as one by one, in the order of the requests."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from jobsplatform.testing.platform import HandPlatform
from tasks import submit
from tasks.handlers import FunctionHandler, job
from tasks.models import Job
from tasks.requests import JobRequest


@pytest.fixture
def many() -> FunctionHandler:
    @job("bulk.many")
    def many(n: int = 0, text: str = "") -> int:
        return n

    return many


def test_a_bulk_stores_what_single_submits_store(jobs: HandPlatform, many: FunctionHandler) -> None:
    texts = ["plain", "quote '\"%s", "\\ back", "夜間 🚀", "{}", "null"] * 10
    results = submit.submit_many([JobRequest("bulk.many", {"n": n, "text": t}) for n, t in enumerate(texts)])
    single = jobs.submit(many, {"n": 7, "text": "plain"})
    rows = list(Job.objects.order_by("id").values())
    assert [row["id"] for row in rows] == [*(r.id for r in results), single]
    assert [row["params"] for row in rows[:-1]] == [{"n": n, "text": t} for n, t in enumerate(texts)]
    alike = [{k: v for k, v in row.items() if k not in ("id", "params")} for row in rows]
    assert all(row == alike[-1] for row in alike)


def test_a_mixed_bulk_keeps_every_field_of_every_request(jobs: HandPlatform, many: FunctionHandler) -> None:
    wishes = [
        JobRequest(
            "bulk.many", {"n": n}, priority=n % 3, user_id=f"u{n % 2}", queue=["default", "films"][n % 2]
        )
        for n in range(60)
    ]
    results = submit.submit_many(wishes)
    for wish, result in zip(wishes, results, strict=True):
        row = Job.objects.get(id=result.id)
        assert (row.params["n"], row.priority, row.user_id, row.queue) == (
            wish.params["n"],
            wish.priority,
            wish.user_id,
            wish.queue,
        )


def test_one_wrong_request_stores_none(jobs: HandPlatform, many: FunctionHandler) -> None:
    wrong: list[Any] = [JobRequest("bulk.many", {"n": n}) for n in range(100)]
    wrong[50] = JobRequest("bulk.many", {"n": "x"})
    with pytest.raises(Exception, match="n"):
        submit.submit_many(wrong)
    assert not Job.objects.exists()


def test_a_rolled_back_bulk_leaves_nothing(jobs: HandPlatform, many: FunctionHandler) -> None:
    with transaction.atomic():
        submit.submit_many([JobRequest("bulk.many", {"n": n}) for n in range(100)])
        transaction.set_rollback(True)
    assert not Job.objects.exists()
    assert jobs.drain() == 0


@pytest.mark.postgres
def test_ten_thousand_alike_are_one_statement(jobs: HandPlatform, many: FunctionHandler) -> None:
    wishes = [JobRequest("bulk.many", {"n": n}) for n in range(10_000)]
    with CaptureQueriesContext(connection) as seen:
        submit.submit_many(wishes)
    assert len([q for q in seen.captured_queries if "INSERT" in q["sql"]]) == 1
    assert Job.objects.count() == 10_000
