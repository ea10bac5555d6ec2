"""Many jobs with large values: lists, counts and filters read no more than they show."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput
from jobsplatform.testing.platform import HandPlatform
from tasks import queries
from tasks.filters import JobFilter
from tasks.models import Job
from tasks.states import State
from tests.database.admin_support import build_job, logged_in

LARGE = "x" * 1_000_000


@pytest.fixture
def large_jobs(db: None) -> None:
    """30 failed jobs whose every large column holds about a megabyte."""
    columns: dict[str, Any] = {
        "params": {"p": LARGE[:200_000]},
        "result": LARGE,
        "data": {"d": LARGE[:200_000]},
        "checkpoint": LARGE[:200_000],
        "error": LARGE[:10_000],
    }
    for _ in range(3):
        Job.objects.bulk_create(build_job(State.FAILED, **columns) for _ in range(10))
    leader = Job.objects.only("id").first()
    alias = {"role": "alias", "hold": "alias", "dedupe_key": "k", "leader": leader}
    Job.objects.bulk_create(build_job(State.PENDING, **alias) for _ in range(5))


LISTS: dict[str, Callable[[], Any]] = {
    "page": lambda: queries.page(JobFilter(), payload=False),
    "filtered page": lambda: queries.page(JobFilter(states=(State.FAILED,), app_id=""), payload=False),
    "count": lambda: queries.count_capped(JobFilter().queryset()),
    "queue stats": lambda: queries.queue_stats(clock.now()),
    "counts by state": queries.counts_by_state,
    "command line": lambda: call_command("jobs", "list", stdout=StringIO(), stderr=StringIO()),
    "admin": lambda: logged_in("tasks.view_job").get(reverse("admin:tasks_job_changelist")),
    "admin, filtered": lambda: logged_in("tasks.view_job").get(
        reverse("admin:tasks_job_changelist"), {"state": "failed"}
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_no_list_reads_a_large_column(large_jobs: None, name: str) -> None:
    LISTS[name]()  # caches are filled, modules loaded
    tracemalloc.start()
    try:
        with CaptureQueriesContext(connection) as asked:
            LISTS[name]()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000, "the rows hold 48 MB"
    for query in asked.captured_queries:
        if '"tasks_job"' in query["sql"] and query["sql"].startswith("SELECT"):
            asked_for = re.sub(r'(LEFT|SUBSTR)\("tasks_job"\."error"', "", query["sql"])
            for column in queries.BIG_COLUMNS:
                assert f'."{column}"' not in asked_for, query["sql"][:300]


def test_the_list_asks_as_often_for_many_rows_as_for_few(db: None) -> None:
    def questions() -> int:
        with CaptureQueriesContext(connection) as asked:
            call_command("jobs", "list", "--limit", "100", stdout=StringIO(), stderr=StringIO())
        return len(asked)

    Job.objects.bulk_create(build_job(State.PENDING) for _ in range(3))
    few = questions()
    Job.objects.bulk_create(build_job(State.PENDING) for _ in range(90))
    assert questions() == few


def test_counting_stops_at_its_cap(db: None) -> None:
    Job.objects.bulk_create(build_job(State.PENDING) for _ in range(30))
    assert queries.count_capped(Job.objects.all(), cap=20) == (20, False)
    assert queries.count_capped(Job.objects.all(), cap=30) == (30, True)


def test_a_large_value_is_shown_shortened_on_its_own_page(large_jobs: None) -> None:
    row = Job.objects.only("id").first()
    assert row is not None
    client: Client = logged_in("tasks.view_job", "tasks.view_payload")
    page = client.get(reverse("admin:tasks_job_change", args=[row.id]))
    assert page.status_code == 200
    assert len(page.content) < 1_000_000


# -- filters over what jobs hold ---------------------------------------------------------------------


KEYS = ["step", "in", "contains", "isnull", "exact", "a.b", "$", "%s", "é", "夜", "a b", "it's", "[0]", "\\"]
VALUES = [None, True, False, 0, 1, 1.5, 1e300, "", "é", "1", "it's", [], [1], {}, {"a": [1]}]


@pytest.mark.parametrize("key", KEYS)
def test_any_key_of_data_can_be_searched_for(jobs: HandPlatform, make_job: Any, key: str) -> None:
    wanted = make_job(data={key: 1, "other": 2})
    make_job(data={key: 2})
    make_job(data={"another": 1})
    found = JobFilter.from_mapping({"data": {key: 1}}).queryset()
    assert [row.id for row in found] == [wanted.id]


@pytest.mark.parametrize(
    "value", [None, True, False, 0, 1, 1.5, 1e300, "", "é", "1", "it's", [], [1], {}, {"a": [1]}]
)
def test_any_value_of_data_can_be_searched_for(jobs: HandPlatform, make_job: Any, value: Any) -> None:
    rows = {repr(other): make_job(data={"k": other}).id for other in VALUES}
    make_job(data={})
    found = JobFilter.from_mapping({"data": {"k": value}}).queryset()
    assert [row.id for row in found] == [rows[repr(value)]]


@pytest.mark.parametrize(
    "data", [{"0": 1}, {'a"b': 1}, {"": 1}, {1: 1}, {"a__b": 1}, {"k": float("nan")}, {"k": "\x00"}, {"k": b"x"},
             {"k": 10**400}, {"k": "\ud800"}, [], "k=1", 5]
)  # fmt: skip
def test_what_cannot_be_searched_for_is_refused(jobs: HandPlatform, data: Any) -> None:
    with pytest.raises(InvalidInput):
        JobFilter.from_mapping({"data": data})
    assert Job.objects.count() == 0, "the transaction is whole"


@pytest.mark.parametrize(
    "given", [{"ids": []}, {"types": ()}, {"states": []}, {"ids": 5}, {"states": {"failed": 1}}]
)
def test_an_empty_list_is_not_taken_for_all_jobs(jobs: HandPlatform, given: Any) -> None:
    with pytest.raises(InvalidInput):
        JobFilter.from_mapping(given)
