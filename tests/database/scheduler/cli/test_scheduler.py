"""`manage.py scheduler`: one document of a stable shape, whatever it did."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobsplatform.testing.platform import HandPlatform
from scheduler.models import Schedule, ScheduleTriggerLog
from scheduler.registry import registry
from tasks.models import Job
from tests.database.cli.ran import from_shell, ran
from tests.database.cli.test_unreachable import NOBODY, ROOT, shell
from tests.database.scheduler.tools import create
from tests.flows.processes import until

NAMES = {"ok", "tenant_id", "iterations", "checked", "triggered", "failed", "instance_id", "schedule_results"}
RESULT = {
    "ok", "schedule_id", "tenant_id", "task_id", "task_type", "status", "planned_at", "triggered_at", "replayed",
    "reason", "error",
}  # fmt: skip


@pytest.mark.usefixtures("work")
class TestRunOnce:
    def test_a_run_without_a_slot(self, jobs: HandPlatform) -> None:
        create("a")
        told = ran("scheduler", "--run-once", "a", "--instance-id", "me").json
        (result,) = told["schedule_results"]
        assert (set(told), set(result)) == (NAMES, RESULT)
        assert (told["ok"], told["iterations"], told["checked"], told["triggered"], told["failed"]) == (
            True,
            1,
            1,
            1,
            0,
        )
        assert told["instance_id"] == "me"
        assert (result["status"], result["planned_at"], result["replayed"]) == ("fired", None, False)
        assert result["task_id"] == str(Job.objects.get().id)

    def test_a_slot_is_decided_once(self, jobs: HandPlatform) -> None:
        create("a", cron="0 * * * *", timezone="Asia/Tokyo")
        first = ran("scheduler", "--run-once", "a", "--planned-at", "2026-01-01T13:00:00Z").json[
            "schedule_results"
        ][0]
        # The same slot, on the wall clock of the schedule.
        again = ran("scheduler", "--run-once", "a", "--planned-at", "2026-01-01T22:00").json[
            "schedule_results"
        ][0]
        assert (first["planned_at"], first["replayed"]) == ("2026-01-01T13:00:00Z", False)
        assert (again["task_id"], again["replayed"]) == (first["task_id"], True)
        assert ScheduleTriggerLog.objects.get().origin == "auto"

    def test_for_a_tenant(self, jobs: HandPlatform) -> None:
        create("a", tenants=["acme"])
        told = ran("scheduler", "--run-once", "a", "--tenant", "acme").json
        assert (told["tenant_id"], told["schedule_results"][0]["tenant_id"]) == ("acme", "acme")
        assert Job.objects.get().tenant_id == "acme"

    @pytest.mark.parametrize(
        ("argv", "code"),
        [
            (["--run-once", "b"], "SCHEDULE_NOT_FOUND"),
            (["--run-once", "a", "--tenant", "acme"], "INVALID_INPUT"),
            (["--run-once", "a", "--planned-at", "soon"], "INVALID_INPUT"),
            (["--run-once", "a", "--provider", "local"], "INVALID_INPUT"),
            (["--run", "--tenant", "acme"], "INVALID_INPUT"),
            (["--run", "--run-once", "a"], "INVALID_INPUT"),
            (["--run", "--provider", "locla"], "INVALID_INPUT"),
            (["--run", "--installed-app", "taks"], "UNKNOWN_NAME"),
            ([], "INVALID_INPUT"),
        ],
    )
    def test_wrong_use_is_a_document_and_a_line(self, jobs: HandPlatform, argv: list[str], code: str) -> None:
        create("a")
        answer = ran("scheduler", *argv)
        assert (answer.code, answer.json["error"]["code"]) == (2, code)
        assert set(answer.json["error"]) == {"code", "message", "suggestion"}
        assert len(answer.err.splitlines()) == 1
        assert not Job.objects.exists()

    def test_what_the_parser_refuses_too(
        self, jobs: HandPlatform, capsys: pytest.CaptureFixture[str]
    ) -> None:
        answer = from_shell(capsys, "scheduler", "--run", "--max-iterations", "0")
        assert (answer.code, answer.json["error"]["code"]) == (2, "INVALID_INPUT")


@pytest.mark.parametrize(
    "argv",
    [
        ("scheduler", "--run-once", "a"),
        ("scheduler", "--run", "--max-iterations", "1"),
        ("schedules", "list", "--json"),
        ("schedules", "run", "a", "--json"),
    ],
)
def test_a_database_that_is_away_ends_with_3(argv: tuple[str, ...]) -> None:
    answer = shell(*argv, DATABASE_URL=NOBODY)
    assert answer.returncode == 3
    assert json.loads(answer.stdout)["error"]["code"] == "UNREACHABLE"
    assert "Traceback" not in answer.stderr
    assert "secret-word" not in answer.stdout + answer.stderr


def test_a_database_without_tables_ends_with_3_and_says_migrate(tmp_path: Path) -> None:
    answer = shell("scheduler", "--run", DATABASE_URL=f"sqlite:///{tmp_path / 'empty.sqlite3'}")
    assert answer.returncode == 3
    assert "migrate" in json.loads(answer.stdout)["error"]["message"]


# -- real processes ----------------------------------------------------------------------------------


@pytest.fixture
def ticking(transactional_db: None) -> Schedule:
    """A schedule of a job type that every process has, due each second."""
    return create("ticking", job="maintenance.report", every=1, misfire="run_once")


def test_rounds_are_planned_and_counted(ticking: Schedule, process_environment: Mapping[str, str]) -> None:
    argv = ("scheduler", "--run", "--max-iterations", "2", "--instance-id", "me")
    answer = shell(*argv, **process_environment)
    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout)
    assert (set(told), told["ok"], told["iterations"], told["instance_id"]) == (NAMES, True, 2, "me")
    fired = [
        row
        for row in told["schedule_results"]
        if row["schedule_id"] == "ticking" and row["status"] == "fired"
    ]
    assert [set(row) for row in fired] == [RESULT]
    assert set(
        ScheduleTriggerLog.objects.filter(schedule_id="ticking").values_list("decided_by", flat=True)
    ) == {"me"}


def test_only_what_the_named_apps_declare_is_stored(
    transactional_db: None, process_environment: Mapping[str, str]
) -> None:
    argv = ("scheduler", "--run", "--max-iterations", "1", "--installed-app", "tasks", "django_celery_beat")
    answer = shell(*argv, **process_environment)
    assert answer.returncode == 0, answer.stderr
    assert not Schedule.objects.exists()
    assert shell("scheduler", "--run", "--max-iterations", "1", **process_environment).returncode == 0
    assert set(Schedule.objects.values_list("id", flat=True)) == {declared.id for declared in registry.all()}


@contextmanager
def running(environment: Mapping[str, str], *argv: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "manage.py", "scheduler", "--run", *argv],
        cwd=ROOT,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_runs_until_it_is_told_to_stop_and_ends_well(
    ticking: Schedule, process_environment: Mapping[str, str], number: signal.Signals
) -> None:
    with running(process_environment, "--instance-id", "first") as process:
        until(lambda: ScheduleTriggerLog.objects.filter(schedule_id="ticking", status="fired").exists())
        process.send_signal(number)
        out, _ = process.communicate(timeout=15)
    assert process.returncode == 0
    told = json.loads(out)
    assert (told["ok"], told["instance_id"], told["triggered"] >= 1) == (True, "first", True)
    # Its turn is given back: the next one plans at once, without waiting for a lock to run out.
    with running(process_environment, "--instance-id", "second"):
        until(lambda: ScheduleTriggerLog.objects.filter(decided_by="second").exists())
