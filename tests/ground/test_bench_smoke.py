"""Tiny runs of `./dev bench` on real servers: real figures of ours, nothing made up, nothing left."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
MODULES = {
    "django-celery-results": "django_celery_results",
    "procrastinate": "procrastinate",
    "pgqueuer": "pgqueuer",
}


SCHEDULERS = {"redbeat": "redbeat"}


def test_a_quick_run_of_jobs_prints_rows_and_leaves_nothing() -> None:
    done, absent = _quick("jobs", "enqueue", MODULES)
    rows = json.loads(done.stdout)
    assert [row["name"] for row in rows] == ["enqueue one by one", "enqueue in bulk"]
    for row in rows:
        assert row["ours"] > 0
        assert row["rivals"]["celery"] > 0
        assert row["ratios"]["celery"] > 0
        assert set(row) == {"name", "unit", "ours", "rivals", "ratios", "target", "met"}
        for rival in absent:
            assert rival not in row["rivals"]
            assert f"not measured: {row['name']}, {rival}: {MODULES[rival]}" in done.stderr
    assert "fsync off, synchronous_commit on" in done.stderr
    assert "--quick: far too few jobs" in done.stderr


def test_a_quick_run_of_schedules_prints_rows_and_leaves_nothing() -> None:
    done, absent = _quick("schedules", "rest", SCHEDULERS)
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert list(rows) == [
        "idle scheduler",
        "idle scheduler, memory",
        "edit to seen, p50",
        "edit to seen, the longest",
    ]
    assert rows["idle scheduler, memory"]["ours"] > 0
    assert rows["edit to seen, the longest"]["ours"] >= rows["edit to seen, p50"]["ours"] > 0
    others = {"celery beat", "django-celery-beat", "redbeat", "apscheduler"}
    assert set(rows["idle scheduler, memory"]["rivals"]) == others - set(absent)
    assert set(rows["edit to seen, p50"]["rivals"]) == {"django-celery-beat", "redbeat"} - set(absent)
    assert "track_commit_timestamp on" in done.stderr


def test_a_quick_run_of_live_prints_rows_and_leaves_nothing() -> None:
    done, _ = _quick("live", "event", {})
    rows = {row["name"]: row["ours"] for row in json.loads(done.stdout)}
    assert list(rows) == ["commit to page, p50", "commit to page, p95", "commit to page, p99"]
    assert 0 < rows["commit to page, p50"] <= rows["commit to page, p99"]


def test_a_quick_run_of_the_bus_measures_both_ways_to_create() -> None:
    done, _ = _quick("live", "bus", {})
    rows = {row["name"]: row["ours"] for row in json.loads(done.stdout)}
    assert list(rows) == ["jobs.create", "jobs.create_many, 100 in a call"]
    assert min(rows.values()) > 0


def _quick(
    what: str, scenario: str, rivals: Mapping[str, str]
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """The run, which left nothing, and the rivals that are not installed here."""
    # Short, for the socket; its own, so that what is left can be seen.
    with tempfile.TemporaryDirectory(prefix="b", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks", what, "--quick", "--json", "--only", scenario],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": folder, "TASKS__BATCH": "not a number: must not leak in"},
            capture_output=True,
            text=True,
            check=False,
        )
        absent = [rival for rival, module in rivals.items() if find_spec(module) is None]
        assert done.returncode == (1 if absent else 0), done.stderr
        assert list(Path(folder).iterdir()) == []
        left = [process for process in psutil.process_iter() if folder in " ".join(_command(process))]
        assert left == []
    return done, absent


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []
