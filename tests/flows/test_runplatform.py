"""``manage.py runplatform``: everything in one process on SQLite, or processes of its own with Redis."""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from django.core.management import CommandError, call_command

from tests.flows.conftest import SETTINGS
from tests.flows.processes import ROOT, Command, notes, until

pytestmark = pytest.mark.flow


class Platform(Command):
    """A running ``runplatform``, and the other commands beside it."""

    def __init__(self, folder: Path, environment: dict[str, str], *arguments: str) -> None:
        self.environment = environment
        self.data = folder / "data"
        command = [sys.executable, "manage.py", "runplatform", *arguments]
        super().__init__(folder / "log", {**environment, "DATA_DIR": str(self.data)}, command)

    def address(self) -> str:
        assert self.said("JobsPlatform runs at"), self.output[-3000:]
        found = re.search(r"runs at (http://\S+)", self.output)
        assert found
        return found.group(1)

    def manage(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            env={**self.environment, "DATA_DIR": str(self.data)},
            cwd=ROOT,
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def _ask(self, query: str, *values: str) -> Any:
        with closing(sqlite3.connect(f"file:{self.data / 'jobsplatform.sqlite3'}?mode=ro", uri=True)) as file:
            row = file.execute(query, values).fetchone()
        return row[0] if row else None

    def state_of(self, job_id: str) -> str | None:
        return self._ask("SELECT state FROM tasks_job WHERE id = ?", job_id.replace("-", ""))

    def busy_threads(self) -> int | None:
        return self._ask(
            "SELECT busy_threads FROM kernel_process WHERE role = 'worker' AND stopped_at IS NULL"
        )


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Platform]:
    environment = {**os.environ, **SETTINGS, "LOGS__FORMAT": "console", "TASKS__POLL_SECONDS": "30"}
    environment["TASKS__RESEND_SECONDS"] = "60"
    for name in ("DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL"):
        environment.pop(name, None)
    platform = Platform(tmp_path, environment, "--port", "0", "--concurrency", "2")
    yield platform
    platform.kill()


def test_one_process_serves_pages_and_runs_jobs(local: Platform, tmp_path: Path) -> None:
    address = local.address()
    assert httpx.get(f"{address}login/").status_code == 200
    assert "cannot be killed" in local.output
    # A poll of 30 s would be seen: the job starts because the file tells of it.
    shown = local.manage(
        "jobs", "enqueue", "flow.add", "--param", "a=40", "--param", "b=2", "--wait", "--json"
    )
    assert '"result": 42' in shown

    password = local.data / "admin_password"
    assert stat.S_IMODE(password.stat().st_mode) == 0o600
    kept = password.read_text().strip()
    assert kept in local.output
    with httpx.Client(follow_redirects=True) as browser:
        page = browser.get(f"{address}login/")
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert token
        answer = browser.post(
            f"{address}login/",
            data={
                "csrfmiddlewaretoken": token.group(1),
                "username": "admin",
                "password": kept,
                "next": "/admin/",
            },
            headers={"Referer": f"{address}login/"},
        )
        assert answer.status_code == 200
        assert "logout" in answer.text

    # Longer than the lease nobody can beat; a busy file is not an outage, and nobody is taken for dead.
    shown = local.manage("jobs", "enqueue", "flow.holds", "--param", "seconds=3", "--wait", "--json")
    assert '"held"' in shown
    assert '"lease": 1' in shown
    assert "no heartbeat has reached the database" not in local.output

    # A thread cannot be killed: its run is ended on record, and it counts as busy.
    deaf = local.manage("jobs", "enqueue", "flow.deaf", "--param", f"path={tmp_path / 'deaf'}")
    until(lambda: notes(str(tmp_path / "deaf")))
    local.manage("jobs", "cancel", deaf)
    until(lambda: local.state_of(deaf) == "cancelled")
    until(lambda: local.busy_threads() == 1)
    assert "threads cannot be killed" in local.output
    shown = local.manage(
        "jobs", "enqueue", "flow.add", "--param", "a=1", "--param", "b=1", "--wait", "--json"
    )
    assert '"result": 2' in shown
    local.send(signal.SIGINT)
    assert local.exit_code() == 0


def test_a_running_job_is_handed_back_at_a_second_ctrl_c(local: Platform, tmp_path: Path) -> None:
    local.address()
    path = str(tmp_path / "notes")
    job_id = local.manage("jobs", "enqueue", "flow.until", "--param", f"path={path}", "--param", "go=/never")
    until(lambda: notes(path))
    local.send(signal.SIGINT)
    assert local.said("takes nothing new")
    local.send(signal.SIGINT)
    local.exit_code()
    assert local.state_of(job_id) == "pending"


def test_a_taken_port_is_passed_over_and_the_password_is_kept(tmp_path: Path) -> None:
    environment = {**os.environ, **SETTINGS}
    for name in ("DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL"):
        environment.pop(name, None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        platform = Platform(tmp_path, environment, "--port", str(port), "--no-worker")
        try:
            address = platform.address()
            assert f"Port {port} is taken" in platform.output
            assert f":{port}/" not in address
            assert "cannot be killed" not in platform.output
            platform.send(signal.SIGTERM)
            assert platform.exit_code() == 0
        finally:
            platform.kill()
    password = (platform.data / "admin_password").read_text().strip()
    again = Platform(tmp_path, environment, "--port", "0", "--no-worker")
    try:
        again.address()
        assert password not in again.output
        assert "admin_password" in again.output
    finally:
        again.kill()


def test_with_redis_the_worker_is_a_process_and_is_started_again(
    environment: dict[str, str], tmp_path: Path
) -> None:
    platform = Platform(tmp_path, environment, "--port", "0", "--concurrency", "1")
    try:
        address = platform.address()
        parent = psutil.Process(platform.pid)

        def worker() -> psutil.Process | None:
            found = [child for child in parent.children() if "celery" in " ".join(child.cmdline())]
            return found[0] if found else None

        first = until(worker)
        until(lambda: " ready." in platform.output)
        assert until(lambda: _status(f"{address}login/")) == 200
        first.kill()
        assert platform.said("The worker ended with -9; again in 1 s.")
        second = until(lambda: (found := worker()) and found.pid != first.pid and found)
        shown = platform.manage(
            "jobs", "enqueue", "flow.add", "--param", "a=40", "--param", "b=2", "--wait", "--json"
        )
        assert '"result": 42' in shown
        platform.send(signal.SIGTERM)
        assert platform.exit_code() == 0
        assert not second.is_running()
    finally:
        for child in psutil.Process(platform.pid).children() if platform.process.poll() is None else []:
            child.kill()
        platform.kill()


def _status(url: str) -> int:
    try:
        return httpx.get(url).status_code
    except httpx.TransportError:
        return 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"port": 99999}, "--port"),
        ({"concurrency": 0}, "--concurrency"),
        ({"host": "no.such.host.invalid"}, "no.such.host.invalid"),
        ({"no_web": True, "no_worker": True, "no_scheduler": True}, "nothing to run"),
    ],
)
def test_wrong_use_is_one_line(options: dict[str, object], words: str) -> None:
    with pytest.raises(CommandError, match=words) as refused:
        call_command("runplatform", **options)
    assert refused.value.returncode == 2
    assert len(str(refused.value).splitlines()) == 1
