"""Real processes whose database, broker or settings are wrong: one clear line and the exit code for it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobsplatform.testing.factory import make_job

ROOT = Path(__file__).resolve().parents[3]
NOBODY = "postgresql://someone:secret-word@127.0.0.1:1/nothing"


def shell(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`manage.py …` as a shell runs it."""
    return subprocess.run(
        [sys.executable, "manage.py", *argv],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


def told(answer: subprocess.CompletedProcess[str]) -> str:
    """The one line on stderr."""
    assert answer.stdout == ""
    (line,) = answer.stderr.splitlines()
    return line


@pytest.mark.parametrize("argv", [["jobs", "enqueue", "maintenance.report", "--wait"], ["suspend", "all"]])
def test_a_database_that_is_away_ends_with_3_and_what_to_do(argv):
    answer = shell(*argv, DATABASE_URL=NOBODY)
    assert answer.returncode == 3
    assert "DATABASE_URL" in told(answer)
    assert "secret-word" not in answer.stderr


def test_the_doctor_tells_of_a_database_that_is_away():
    answer = shell("doctor", "--json", DATABASE_URL=NOBODY)
    assert (answer.returncode, answer.stderr) == (3, "")
    assert json.loads(answer.stdout)["exit_code"] == 3
    assert "secret-word" not in answer.stdout


def test_missing_tables_end_with_3_and_say_migrate(tmp_path):
    answer = shell("jobs", "list", DATABASE_URL=f"sqlite:///{tmp_path / 'empty.sqlite3'}")
    assert answer.returncode == 3
    assert "manage.py migrate" in told(answer)


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [("TASKS__BATHC", "5", "Did you mean TASKS__BATCH?"), ("DATABASE_URL", "mysql://x", "DATABASE_URL")],
)
def test_wrong_settings_end_with_2(variable, value, words):
    answer = shell("jobs", "list", **{variable: value})
    assert (answer.returncode, answer.stdout) == (2, "")
    assert words in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_away_stops_no_enqueue_and_is_told(process_environment):
    away = {**process_environment, "REDIS_URL": "redis://127.0.0.1:1/0", "CELERY_BROKER_URL": ""}
    answer = shell("jobs", "enqueue", "maintenance.report", **away)
    assert answer.returncode == 0
    assert "The broker is away" in answer.stderr
    assert "REDIS_URL" in answer.stderr
    shown = shell("jobs", "show", answer.stdout.strip(), "--json", **away)
    assert json.loads(shown.stdout)["status"] == "pending"
    assert shell("doctor", **away).returncode == 3


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_names_survive_any_encoding_of_the_output(process_environment, encoding):
    make_job(job_type="夜間バックアップ")
    environment = {**process_environment, "PYTHONIOENCODING": encoding}
    listed = shell("jobs", "list", **environment)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert ("夜間" in listed.stdout) is (encoding == "utf-8")
    (row,) = json.loads(shell("jobs", "list", "--json", **environment).stdout)["jobs"]
    assert row["job_type"] == "夜間バックアップ"
