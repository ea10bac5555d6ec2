"""A tiny run of `./dev bench jobs` on real servers: real figures of ours, nothing made up, nothing left."""

import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
MODULES = {
    "django-celery-results": "django_celery_results",
    "procrastinate": "procrastinate",
    "pgqueuer": "pgqueuer",
}


def test_a_quick_run_prints_rows_and_leaves_nothing(tmp_path: Path) -> None:
    # Short, for the socket; its own, so that what is left can be seen.
    with tempfile.TemporaryDirectory(prefix="b", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks", "jobs", "--quick", "--json", "--only", "enqueue"],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": folder, "TASKS__BATCH": "not a number: must not leak in"},
            capture_output=True,
            text=True,
            check=False,
        )
        absent = [rival for rival, module in MODULES.items() if find_spec(module) is None]
        assert done.returncode == (1 if absent else 0), done.stderr
        assert list(Path(folder).iterdir()) == []
        left = [process for process in psutil.process_iter() if folder in " ".join(_command(process))]
        assert left == []
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


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []
