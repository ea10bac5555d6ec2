"""`doctor`: each fault is planted and found; the exit code follows the worst."""

from datetime import timedelta

import pytest
from django.core import checks
from django.db import connection
from redis import Redis

from jobsplatform.kernel import config
from jobsplatform.kernel.clock import FrozenClock
from jobsplatform.kernel.ids import uuid7
from jobsplatform.testing.factory import make_job
from tasks.doctor import database, orphans, schema, settings, storage
from tasks.doctor.broker import look_at
from tasks.doctor.finding import Level
from tasks.models import Job
from tests.database.cli.ran import Ran, ran

LONG_AGO = timedelta(minutes=5)


def findings(answer: Ran, check: str) -> list[dict]:
    return [found for found in answer.json["checks"] if found["check"] == check]


def doctor() -> Ran:
    return ran("doctor", "--json")


def test_a_well_platform_has_no_fault(jobs):
    jobs.add_worker()
    answer = ran("doctor")
    assert answer.code == 0, answer.out
    assert "fault" not in answer.out
    told = doctor().json
    assert (told["ok"], told["exit_code"]) == (True, 0)
    names = {found["check"] for found in told["checks"]}
    assert names == {"settings", "broker", "database", "clock", "migrations", "schema", "storage", "processes",
                     "workers", "queues", "suspensions", "orphans", "schedules"}  # fmt: skip


def test_faults_end_with_1_and_say_what_to_do(jobs):
    answer = ran("doctor")
    assert answer.code == 1
    assert "No live worker" in answer.out
    assert "manage.py runplatform" in answer.out
    assert answer.out.rstrip().endswith("1 fault.")


def test_a_silent_process_is_found(jobs):
    jobs.add_worker().die()
    jobs.add_worker()
    jobs.advance(60)
    (found,) = findings(doctor(), "processes")
    assert found["level"] == "fault"
    assert "silent for 60 s" in found["text"]


def test_workers_that_all_drain_are_a_warning(jobs):
    worker = jobs.add_worker()
    type(worker.process).objects.update(stopping=True)
    (found,) = findings(doctor(), "workers")
    assert found["level"] == "warning"


def test_no_worker_is_needed_where_jobs_run_in_their_callers(jobs):
    with config.override(tasks={"provider": "sync"}):
        assert findings(doctor(), "workers")[0]["level"] == "ok"


def test_an_unserved_queue_and_an_unknown_type_are_found(jobs):
    jobs.add_worker(queues=["default"], keys=frozenset({":known"}))
    make_job(job_type="known", queue="mail")
    make_job(job_type="newer")
    make_job(job_type="known")
    texts = [found["text"] for found in findings(doctor(), "queues")]
    assert len(texts) == 2
    assert "1 jobs wait in the queue mail" in texts[0]
    assert "1 jobs of type newer wait" in texts[1]


def test_suspensions_are_warnings(jobs):
    jobs.add_worker()
    ran("suspend", "queue", "default", "--reason", "disk full")
    answer = doctor()
    (found,) = findings(answer, "suspensions")
    assert answer.code == 0
    assert "disk full" in found["text"]
    assert "unsuspend queue default" in found["advice"]


def old(state: str = "pending", **columns: object) -> Job:
    row = make_job(state, **columns)
    Job.objects.filter(id=row.id).update(updated_at=row.updated_at - LONG_AGO)
    return row


def plant(kind: str) -> Job:
    """A row of one kind of orphan; legal for the database, and stuck."""
    match kind:
        case "ownerless":
            return old("running")
        case "leaderless":
            return old(dedupe_key="k", role="alias", leader_id=uuid7())
        case "successors":
            return old(dedupe_key="k", role="successor", hold="successor", dedupe="keep_latest")
        case "childless":
            parent = old("waiting")
            old("completed", parent_id=parent.id, child_key="1")
            return parent
        case "parentless":
            return old(parent_id=uuid7(), child_key="1")
        case "key_free":
            return old(concurrency_key="k", hold="key")
        case "overlap_free":
            return old(overlap="skip", overlap_key="k", hold="overlap")
        case "too_late":
            row = old(hold="tenant", tenant_id="t")
            Job.objects.filter(id=row.id).update(latest_start_at=row.due_at - LONG_AGO)
            return row
        case "overdue":
            row = old(hold="later")
            Job.objects.filter(id=row.id).update(due_at=row.due_at - LONG_AGO)
            return row
        case _:
            return old(hold="preempted", preempted_by=uuid7())


@pytest.mark.parametrize("kind", [rule.name for rule in orphans.RULES])
def test_each_kind_of_orphan_row_is_found(jobs, kind):
    jobs.add_worker()
    row = plant(kind)
    found = [each for each in findings(doctor(), "orphans") if each["level"] == "fault"]
    assert [each["facts"]["kind"] for each in found] == [kind]
    assert found[0]["facts"]["ids"] == [str(row.id)]


def test_rows_that_wait_for_something_real_are_no_orphans(jobs):
    worker = jobs.add_worker()
    leader = old("running", worker_id=worker.id, dedupe_key="k", concurrency_key="c")
    old(dedupe_key="k", role="alias", leader_id=leader.id)
    old(dedupe_key="k", role="successor", hold="successor", dedupe="keep_latest")
    old(concurrency_key="c", hold="key")
    old("paused", overlap="skip", overlap_key="k")
    old(overlap="buffer_all", overlap_key="k", hold="overlap")
    old("running", worker_id=worker.id, latest_start_at=leader.due_at - LONG_AGO)
    parent = old("waiting")
    old(parent_id=parent.id, child_key="1")
    old("waiting", open_end=True)
    old(run_after=jobs.clock.now() + timedelta(hours=1))
    old(hold="preempted", preempted_by=old().id)
    assert [found["level"] for found in findings(doctor(), "orphans")] == ["ok"]


def test_a_move_in_progress_is_no_orphan(jobs):
    jobs.add_worker()
    make_job("running")
    assert [found["level"] for found in findings(doctor(), "orphans")] == ["ok"]


def test_a_missing_index_and_a_missing_constraint_are_found(jobs):
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX job_claim")
        cursor.execute("DROP INDEX job_one_leader")
    texts = {found.facts["name"]: found for found in schema.check_schema(jobs.clock.now())}
    assert set(texts) == {"job_claim", "job_one_leader"}
    assert "Make it again: CREATE INDEX" in texts["job_claim"].advice
    assert "slow" in texts["job_claim"].text
    assert "no longer refused" in texts["job_one_leader"].text


@pytest.mark.postgres
def test_the_advice_for_a_missing_index_works(jobs):
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX job_claim")
        (found,) = schema.check_schema(jobs.clock.now())
        cursor.execute(found.advice.removeprefix("Make it again: ").replace("CONCURRENTLY ", ""))
    assert [each.level for each in schema.check_schema(jobs.clock.now())] == [Level.OK]


@pytest.mark.postgres
def test_an_unvalidated_constraint_and_an_invalid_index_are_found(jobs):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE tasks_job DROP CONSTRAINT job_state_known")
        cursor.execute("ALTER TABLE tasks_job ADD CONSTRAINT job_state_known CHECK (state <> '') NOT VALID")
        cursor.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'job_purge'::regclass")
    advice = {found.facts["name"]: found.advice for found in schema.check_schema(jobs.clock.now())}
    assert set(advice) == {"job_state_known", "job_purge"}
    assert advice["job_purge"] == "REINDEX INDEX CONCURRENTLY job_purge;"
    assert "VALIDATE CONSTRAINT job_state_known" in advice["job_state_known"]


def test_a_migration_that_was_not_applied_is_found(jobs):
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'tasks'")
    answer = doctor()
    (found,) = findings(answer, "migrations")
    assert (answer.code, found["level"]) == (1, "fault")
    assert "manage.py migrate" in found["advice"]
    assert not findings(answer, "orphans")


def test_a_database_ahead_of_this_release_is_a_warning(jobs):
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('tasks', '9999_newer', '2026-01-01')"
        )
    (found,) = findings(doctor(), "migrations")
    assert found["level"] == "warning"
    assert "tasks.9999_newer" in found["text"]


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("off", "level"), [(0, "ok"), (10, "warning"), (-10, "warning"), (120, "fault"), (-120, "fault")]
)
def test_a_clock_that_is_off_is_found(db, off, level):
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        machine = FrozenClock(cursor.fetchone()[0] + timedelta(seconds=off))
    found = database.compare_clocks(machine)
    assert found.level == level
    if off:
        assert ("behind" if off > 0 else "ahead of") in found.text


def test_a_database_that_does_not_answer_is_unreachable(jobs, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise database.InterfaceError("connection refused")

    monkeypatch.setattr(database, "_version", refuse)
    answer = doctor()
    (found,) = findings(answer, "database")
    assert (answer.code, found["level"]) == (3, "unreachable")
    assert "DATABASE_URL" in found["advice"]
    assert not findings(answer, "orphans")


def test_a_broker_that_does_not_answer_is_unreachable(jobs):
    jobs.add_worker()
    with config.override(redis_url="redis://127.0.0.1:1/0", celery_broker_url="redis://127.0.0.1:1/0"):
        answer = doctor()
    (found,) = findings(answer, "broker")
    assert (answer.code, found["level"]) == (3, "unreachable")
    assert "REDIS_URL" in found["advice"]
    assert findings(answer, "orphans"), "the database is looked at all the same"


@pytest.mark.parametrize("url", ["amqp://127.0.0.1:1//", "nonsense://x"])
def test_a_broker_of_another_kind_is_asked_too(url):
    (found,) = look_at("broker", url)
    assert found.level is Level.UNREACHABLE


def test_a_redis_that_may_forget_is_found(redis_url):
    with Redis.from_url(redis_url) as client:
        before = client.config_get("maxmemory*")
        try:
            assert [found.level for found in look_at("broker", redis_url)] == [Level.OK]
            client.config_set("maxmemory-policy", "allkeys-lru")
            assert [found.level for found in look_at("broker", redis_url)] == [Level.WARNING]
            client.config_set("maxmemory", "1gb")
            assert [found.level for found in look_at("broker", redis_url)] == [Level.FAULT]
        finally:
            client.config_set("maxmemory-policy", before["maxmemory-policy"])
            client.config_set("maxmemory", before["maxmemory"])


def test_a_complaint_of_the_system_checks_is_told(jobs, monkeypatch):
    complaint = checks.Error("Something is unsafe.", hint="Make it safe.", id="x.E001")
    monkeypatch.setattr(checks, "run_checks", lambda: [complaint, checks.Info("nothing")])
    (found,) = settings.check_settings(jobs.clock.now())
    assert (found.level, found.advice) == (Level.FAULT, "Make it safe.")


def test_the_storage_is_well(jobs):
    if connection.vendor == "postgresql":
        # What tests before this one have rolled back counts as dead rows until they are vacuumed.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_reset()")
    assert [found.level for found in storage.check_storage(jobs.clock.now())] == [Level.OK]
