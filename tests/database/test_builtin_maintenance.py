"""The jobs that keep an installation clean, on real rows."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sessions.models import Session

from jobsplatform.kernel import audit, clock, config
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.models import AuditEvent
from jobsplatform.testing.factory import make_job
from jobsplatform.testing.platform import HandPlatform
from tasks.builtin import caches
from tasks.builtin.maintenance import archive_file
from tasks.builtin.maintenance import archive_logs as archive_module
from tasks.builtin.maintenance import clear_sessions as sessions_module
from tasks.builtin.maintenance.archive_logs import archive_logs
from tasks.builtin.maintenance.clear_sessions import clear_sessions
from tasks.builtin.maintenance.find_stuck import find_stuck
from tasks.builtin.maintenance.purge_jobs import purge_jobs
from tasks.builtin.maintenance.refresh_caches import refresh_caches
from tasks.builtin.maintenance.report import report
from tasks.handlers import job
from tasks.models import Job
from tasks.states import State


def result_of(jobs: HandPlatform, handler: Any, **params: Any) -> dict[str, Any]:
    """Run the job on the hand platform; its result."""
    job_id = jobs.submit(handler, params)
    jobs.drain()
    done = jobs.job(job_id)
    assert done.state == State.COMPLETED, done.error
    return dict(done.result)


def test_purge_removes_the_whole_backlog_and_keeps_the_rest(jobs: HandPlatform) -> None:
    old = clock.now() - timedelta(days=1)
    for _ in range(25):
        make_job(State.COMPLETED, purge_at=old)
    kept = [
        make_job(State.COMPLETED, purge_at=clock.now() + timedelta(days=1)),
        make_job(State.PENDING, queue="off"),
    ]
    assert result_of(jobs, purge_jobs, batch=10) == {"removed": 25}
    assert Job.objects.filter(id__in=[row.id for row in kept]).count() == 2
    assert Job.objects.count() == 3


def audit_event(age_days: float, name: str) -> None:
    at = clock.now() - timedelta(days=age_days)
    audit.record("test.act", "thing", name, actor=Actor.system("test"), after={"name": "ü\u2028"}, at=at)


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    with config.override(data_dir=tmp_path, audit_retention_days=30):
        yield tmp_path


def archived(folder: Path) -> list[dict[str, Any]]:
    rows = []
    for file in sorted((folder / "archive").glob("*.jsonl.gz")):
        rows += [json.loads(line) for line in gzip.decompress(file.read_bytes()).decode().splitlines()]
    return rows


def test_old_audit_events_are_written_before_they_are_removed(
    jobs: HandPlatform, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_module, "EVENTS_PER_FILE", 3)
    monkeypatch.setattr(archive_module, "REMOVED_AT_ONCE", 2)
    for number in range(8):
        audit_event(40 - number, f"old-{number}")
    audit_event(1, "young")
    result = result_of(jobs, archive_logs)
    assert result["archived"] == 8 and len(result["files"]) == 3
    assert [row["target_id"] for row in archived(data_dir)] == [f"old-{number}" for number in range(8)]
    assert archived(data_dir)[0]["after"] == {"name": "ü\u2028"}
    assert list(AuditEvent.objects.filter(action="test.act").values_list("target_id", flat=True)) == ["young"]
    assert not list((data_dir / "archive").glob("*.part"))
    assert {file.stat().st_mode & 0o777 for file in (data_dir / "archive").iterdir()} == {0o600}


def test_events_of_one_instant_are_never_removed_unwritten(
    jobs: HandPlatform, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_module, "EVENTS_PER_FILE", 2)
    for number in range(5):
        audit_event(50, f"same-{number}")
    audit_event(45, "later")
    result_of(jobs, archive_logs)
    names = [row["target_id"] for row in archived(data_dir)]
    assert sorted(names) == ["later", *(f"same-{number}" for number in range(5))]


def test_an_archive_that_cannot_be_written_removes_nothing(
    jobs: HandPlatform, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit_event(40, "old")

    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive_file, "_settle", full)
    job_id = jobs.submit(archive_logs, max_attempts=1)
    jobs.drain()
    assert jobs.state(job_id) is State.FAILED and "No space left" in jobs.job(job_id).error
    assert AuditEvent.objects.filter(target_id="old").exists()


def test_events_are_archived_before_retention_takes_them(jobs: HandPlatform, data_dir: Path) -> None:
    audit_event(25, "soon to be removed")
    audit_event(20, "not yet")
    assert result_of(jobs, archive_logs)["archived"] == 1


def test_expired_sessions_go_in_batches(jobs: HandPlatform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "BATCH", 2)
    now = clock.now()
    for number in range(5):
        Session.objects.create(
            session_key=f"old{number}", session_data="", expire_date=now - timedelta(hours=1)
        )
    Session.objects.create(session_key="live", session_data="", expire_date=now + timedelta(days=9000))
    assert result_of(jobs, clear_sessions)["removed"] == 5
    assert list(Session.objects.values_list("session_key", flat=True)) == ["live"]


def test_all_caches_are_refreshed_and_a_failing_one_stops_no_other(jobs: HandPlatform) -> None:
    called: list[str] = []

    def fails() -> None:
        raise ConnectionError("rates are away\x00")

    try:
        caches.register_cache("rates", fails)
        caches.register_cache("zones", lambda: called.append("zones"))
        job_id = jobs.submit(refresh_caches, max_attempts=1)
        jobs.drain()
        assert (
            "1 of 2 caches were not refreshed: rates (ConnectionError: rates are away"
            in jobs.job(job_id).error
        )
        assert called == ["zones"]
        assert list(result_of(jobs, refresh_caches, names=["zones"])["refreshed"]) == ["zones"]
        unknown = jobs.submit(refresh_caches, {"names": ["zone"]})
        jobs.drain()
        assert "Did you mean 'zones'?" in jobs.job(unknown).error
        assert jobs.job(unknown).failures == 1
    finally:
        caches.unregister_cache("rates")
        caches.unregister_cache("zones")


def test_stuck_work_is_listed_with_its_reason(jobs: HandPlatform) -> None:
    now = clock.now()

    def ago(minutes: float) -> Any:
        return now - timedelta(minutes=minutes)

    overdue = make_job(State.PENDING, queue="unserved", due_at=ago(30), created_at=ago(30))
    make_job(State.PENDING, queue="unserved", due_at=ago(1))
    make_job(State.PENDING, queue="unserved", run_after=now + timedelta(days=1))
    silent = make_job(
        State.RUNNING, queue="busy", started_at=ago(200), progress_at=ago(100), progress_label="row 7"
    )
    make_job(State.RUNNING, queue="busy", started_at=ago(200), progress_at=ago(1))
    make_job(State.RUNNING, queue="busy", started_at=ago(5))
    sent = make_job(State.DISPATCHED, queue="busy", dispatched_at=ago(10))
    make_job(State.DISPATCHED, queue="busy", dispatched_at=ago(0.1))
    found = result_of(jobs, find_stuck)
    assert {name: [row["id"] for row in found[name]["jobs"]] for name in found} == {
        "overdue": [str(overdue.id)],
        "silent": [str(silent.id)],
        "not_started": [str(sent.id)],
    }
    assert (found["silent"]["jobs"][0]["minutes"], found["silent"]["jobs"][0]["label"]) == (100, "row 7")
    assert found["overdue"]["jobs"][0]["minutes"] == 30
    assert "worker" in found["overdue"]["jobs"][0]["why"]


def test_lists_are_bounded_and_counts_are_not(jobs: HandPlatform) -> None:
    for number in range(7):
        make_job(State.PENDING, queue="unserved", due_at=clock.now() - timedelta(minutes=20 + number))
    found = result_of(jobs, find_stuck, limit=3)["overdue"]
    assert (found["count"], found["exact"], len(found["jobs"])) == (7, True, 3)
    assert [row["minutes"] for row in found["jobs"]] == [26, 25, 24]


def test_the_report_sums_up_a_period(jobs: HandPlatform) -> None:
    make_job(State.COMPLETED, job_type="before.window", finished_at=clock.now() - timedelta(days=3))

    @job("report.good")
    def good() -> None:
        jobs.clock.advance(2)

    @job("report.bad", max_attempts=1)
    def bad(n: int) -> None:
        jobs.clock.advance(9)
        raise LookupError(f"no row {n}")

    for n in range(3):
        jobs.submit(good)
        jobs.submit(bad, {"n": n})
    jobs.drain()
    make_job(State.PENDING, queue="unserved")
    jobs.advance(1)
    found = result_of(jobs, report, hours=24)
    assert found["ended"] == {"completed": 3, "failed": 3}
    assert found["open"]["pending"] == 1 and found["success_rate"] == 0.5
    assert {row["job_type"]: row["total"] for row in found["by_type"]} == {"report.bad": 3, "report.good": 3}
    (failure,) = found["failures"]
    assert (failure["job_type"], failure["error_type"], failure["runs"]) == ("report.bad", "LookupError", 3)
    assert failure["last_error"] == "no row 2"
    assert [(row["job_type"], row["mean_seconds"], row["runs"]) for row in found["slowest"]] == [
        ("report.bad", 9, 3),
        ("report.good", 2, 3),
    ]


def test_a_report_of_nothing(jobs: HandPlatform) -> None:
    found = result_of(jobs, report)
    assert (found["ended"], found["by_type"], found["success_rate"]) == ({}, [], None)


@pytest.mark.parametrize(
    "key",
    [
        "files.scan",
        "files.scan_folder",
        "http.call",
        "maintenance.archive_logs",
        "maintenance.archive_slots",
        "maintenance.clear_sessions",
        "maintenance.clear_temp",
        "maintenance.find_stuck",
        "maintenance.purge_jobs",
        "maintenance.refresh_caches",
        "maintenance.report",
        "system.command",
    ],
)
def test_every_shipped_type_is_found_and_described(jobs: HandPlatform, key: str) -> None:
    from tasks import registry

    handler = registry.by_key(f":{key}")
    assert handler.spec.description
    assert f"`{key}`" in (Path(__file__).parents[2] / "docs" / "builtin-jobs.md").read_text()
