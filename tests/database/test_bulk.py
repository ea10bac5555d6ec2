"""Many jobs in one call: the same rows as one by one, in the order of the requests."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from jobsplatform.kernel.errors import InvalidInput
from jobsplatform.testing.platform import HandPlatform
from tasks import submit
from tasks.handlers import FunctionHandler, job
from tasks.models import Job
from tasks.requests import JobRequest
from tasks.sql import insert


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


@pytest.mark.postgres
def test_a_bulk_with_much_text_is_several_statements_and_still_all_or_none(
    jobs: HandPlatform, many: FunctionHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(insert, "CHARACTERS", 10_000)
    with CaptureQueriesContext(connection) as seen:
        results = many.enqueue_many([{"n": n, "text": "x" * 900} for n in range(100)])
    sent = [q["sql"] for q in seen.captured_queries if "INSERT" in q["sql"]]
    assert 8 <= len(sent) <= 15
    assert seen.captured_queries[0]["sql"].startswith(("BEGIN", "SAVEPOINT"))
    stored = dict(Job.objects.values_list("id", "params"))
    assert [stored[result.id]["n"] for result in results if result.id] == list(range(100))


def test_keys_that_params_decide_are_each_jobs_own(jobs: HandPlatform) -> None:
    @job("bulk.keyed", concurrency_key="shop:{shop}")
    def keyed(shop: int) -> int:
        return shop

    results = keyed.enqueue_many([{"shop": n % 3} for n in range(30)])
    stored = dict(Job.objects.values_list("id", "concurrency_key"))
    assert [stored[result.id] for result in results if result.id] == [f"shop:{n % 3}" for n in range(30)]


def test_some_of_a_bulk_may_have_dedupe_keys(jobs: HandPlatform) -> None:
    @job("bulk.some", dedupe_key=lambda params: f"k{params['n']}" if params["n"] % 2 else "")
    def some(n: int) -> int:
        return n

    assert [r.status for r in some.enqueue_many([{"n": n} for n in (0, 1, 1, 2, 3)])] == [
        "created",
        "created",
        "alias",
        "created",
        "created",
    ]
    assert sorted(Job.objects.values_list("dedupe_key", "role")) == [
        ("", ""),
        ("", ""),
        ("k1", "alias"),
        ("k1", "leader"),
        ("k3", "leader"),
    ]


@pytest.mark.parametrize("wrong", [{"max_attempts": True}, {"force": 1}, {"priority": True}])
def test_a_wrong_value_that_equals_its_neighbours_is_refused(
    jobs: HandPlatform, many: FunctionHandler, wrong: dict[str, Any]
) -> None:
    name, value = next(iter(wrong.items()))
    right = {"max_attempts": 1, "force": True, "priority": 1}[name]
    equal: list[Any] = [{name: right}, {name: value}]
    requests = [JobRequest("bulk.many", **fields) for fields in equal]
    with pytest.raises(InvalidInput, match=name):
        submit.submit_many(requests)
    assert not Job.objects.exists()


def test_an_empty_bulk_makes_nothing(jobs: HandPlatform, many: FunctionHandler[..., Any]) -> None:
    assert many.enqueue_many([]) == []
    assert submit.submit_many([]) == []
