"""A worker holds what it works with: no pages, no checks, no readers of images."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core import checks
from django.core.checks import run_checks

from jobsplatform import admin_site
from jobsplatform.kernel.forks import run_apart

ROOT = Path(__file__).resolve().parents[2]
HEAVY = (
    "jobsplatform.urls",
    "tasks.admin.jobs",
    "jobsplatform.admin.people",
    "unfold.sites",
    "PIL",
    "prometheus_client",
    "ninja",
    "jsonschema_rs",
    "tasks.bus.running_schemas",
)


def loaded(code: str, tmp_path: Path) -> set[str]:
    """The modules of a fresh process after ``code``."""
    environment = {"PATH": os.environ["PATH"], "PROFILE": "local", "DATA_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_a_worker_loads_no_screens_and_no_image_readers(tmp_path: Path) -> None:
    worker = "from jobsplatform.celery import app; app.loader.init_worker()"
    found = loaded(worker, tmp_path)
    assert "tasks.worker.task" in found
    assert [name for name in HEAVY if name in found] == []


def test_addresses_bring_the_screens(tmp_path: Path) -> None:
    web = "from jobsplatform.celery import app; app.loader.init_worker(); import jobsplatform.urls"
    assert {"tasks.admin.jobs", "jobsplatform.admin.people", "unfold.sites"} <= loaded(web, tmp_path)


def test_the_checks_look_at_the_screens(monkeypatch: pytest.MonkeyPatch) -> None:
    fault = checks.Error("a screen is wrong", id="x.E001")
    monkeypatch.setattr(admin_site, "check_admin_app", lambda **given: [fault])
    assert fault in run_checks(tags=["admin"])


@pytest.mark.parametrize(("end", "code"), [(3, 3), (2, 2), (None, 0)])
def test_work_done_apart_ends_us_when_it_ends_itself(end: int | None, code: int) -> None:
    def work() -> None:
        if end is not None:
            raise SystemExit(end)

    if code == 0:
        run_apart(work)
        return
    with pytest.raises(SystemExit) as ended:
        run_apart(work)
    assert ended.value.code == code


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks safely with libraries loaded")
def test_what_work_apart_changes_is_not_changed_here(capfd: pytest.CaptureFixture[str]) -> None:
    kept: list[int] = []

    def work() -> None:
        kept.append(1)
        raise ValueError("a fault of ours")

    with pytest.raises(SystemExit):
        run_apart(work)
    assert kept == []
    assert "ValueError: a fault of ours" in capfd.readouterr().err
