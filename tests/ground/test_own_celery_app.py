"""The wheel in an environment of its own, in a stock project that has a Celery app of its own, as docs/own-project.md
tells: its tasks, our jobs, a schedule, the admin."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.ground.processes import wait_until
from tests.pure.docs.pages import ROOT, blocks, page
from tests.services import start_redis
from tests.services.guard import Guard

OURS = (
    "DJANGO_SETTINGS_MODULE",
    "DATABASE_URL",
    "REDIS_URL",
    "DATA_DIR",
    "JP_TEST_DATABASE",
    "PYTEST_ADDOPTS",
)
"""What this run has set, which is none of theirs."""
PACKED = ("jobsplatform", "tasks", "scheduler", "manage.py", "pyproject.toml", "README.md", "LICENSE")
UV = Path(sys.executable).parent / "uv"
SETTINGS = """
INSTALLED_APPS += ["shop"]
{ours}
{database}
TASKS = {{"default": {{"BACKEND": "tasks.backend.JobsBackend"}}}}
JOBSPLATFORM["redis_url"] = "{redis}"
CELERY_BROKER_URL = "{redis}"
ALLOWED_HOSTS = ["testserver"]
"""
SHOP = {
    "tasks.py": """
from pathlib import Path

from celery import shared_task
try:
    from django.tasks import task
except ImportError:
    from django_tasks import task


@shared_task
def restock(shelf: str) -> str:
    Path(f"restocked-{shelf}").touch()
    return shelf.upper()


@task
def count(*shelves: str) -> int:
    return len(shelves)
""",
    "jobs.py": """
from jobsplatform import JobContext, celery_task, job

celery_task("shop.tasks.restock")


@job("shop.price")
def price(ctx: JobContext, net: int) -> int:
    return net + net * 19 // 100
""",
    "schedules.py": """
from jobsplatform import schedule

schedule("restock", job="shop.tasks.restock", every=1, misfire="run_once", params={"shelf": "by-schedule"})
""",
}
MADE = """
import json
from shop import jobs, tasks
made = {
    "job": jobs.price.enqueue(net=100).id,
    "task": tasks.count.enqueue("a", "b").id,
    "tracked": __import__("jobsplatform").enqueue("shop.tasks.restock", {"shelf": "tracked"}).id,
}
tasks.restock.delay("plain")
print(json.dumps({name: str(each) for name, each in made.items()}))
"""
ADMIN = """
from django.contrib.auth import get_user_model
from django.test import Client
client = Client()
client.force_login(get_user_model().objects.create_superuser("admin"))
for path in ("/admin/", "/admin/tasks/job/", "/admin/scheduler/schedule/"):
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.status_code)
    print(path, "restock" in answer.content.decode())
"""


class Project:
    """A stock project, and the programs of its environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "venv" / "bin"
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if name not in OURS and "__" not in name and not name.startswith(("PYTHON", "CELERY_"))
        }

    def run(self, *command: str | Path, folder: Path | None = None) -> str:
        """What it prints. Fails with all it said when it does not end well."""
        ended = subprocess.run(
            list(map(str, command)),
            cwd=folder or self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, f"{command}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout

    def manage(self, *arguments: str) -> str:
        return self.run(self.bin / "python", "manage.py", *arguments)

    def shell(self, code: str) -> str:
        return self.manage("shell", "--verbosity", "0", "-c", code)


def wheel_of(folder: Path) -> Path:
    """A wheel of this checkout, built from a copy: building leaves folders behind."""
    source = folder / "source"
    source.mkdir()
    for name in PACKED:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, source / name)
    subprocess.run([UV, "build", "-q", "--wheel", "--out-dir", folder, source], check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("theirs")
    project = Project(folder)
    wheel = wheel_of(folder)
    project.run(UV, "venv", "-q", "--python", sys.executable, "venv")
    lock = ["-c", ROOT / "requirements.lock", "--no-verify-hashes"]
    project.run(UV, "pip", "install", "-q", "--python", project.bin / "python", *lock, wheel, "django-tasks")
    project.run(project.bin / "django-admin", "startproject", "mysite", ".")
    project.manage("startapp", "shop")
    redis = start_redis()
    ours, database, celery, urls = blocks(page("own-project.md"), "python")
    with (folder / "mysite" / "settings.py").open("a") as settings:
        settings.write(SETTINGS.format(ours=ours, database=database, redis=redis.url))
    with (folder / "mysite" / "urls.py").open("a") as addresses:
        addresses.write(urls.replace("urlpatterns =", "urlpatterns +="))
    (folder / "mysite" / "celery.py").write_text(celery)
    (folder / "mysite" / "__init__.py").write_text("from .celery import app as celery_app\n")
    for name, code in SHOP.items():
        (folder / "shop" / name).write_text(code)
    try:
        yield project
    finally:
        redis.stop()


@contextmanager
def program(project: Project, name: str, *arguments: str) -> Iterator[Path]:
    """A program of their Celery app; its output. It ends well when it is asked to."""
    log = project.folder / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [project.bin / "celery", "-A", "mysite", name, *arguments],
            cwd=project.folder,
            env=project.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    guard = Guard(process.pid, log.with_suffix(".none"))
    try:
        yield log
        assert process.poll() is None, log.read_text()[-3000:]
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, log.read_text()[-3000:]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        guard.release()


@pytest.fixture(scope="module")
def worker(project: Project) -> Iterator[Path]:
    """A worker of their app; its output."""
    project.manage("migrate", "--verbosity", "0")
    with program(project, "worker", "--concurrency", "2") as log:
        wait_until(lambda: " ready." in log.read_text(), "the worker is ready")
        yield log


def test_the_project_has_nothing_to_complain_of(project):
    assert "no issues" in project.manage("check")


def test_a_worker_of_their_app_that_is_not_migrated_says_so(project):
    if (project.folder / "db.sqlite3").exists():
        pytest.skip("the database has been migrated by another test")
    ended = subprocess.run(
        [project.bin / "celery", "-A", "mysite", "worker"],
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2 and "Run manage.py migrate" in ended.stderr, ended.stderr[-2000:]


def test_jobs_run_beside_their_tasks(project, worker):
    made = json.loads(project.shell(MADE))
    for name, result in (("job", 119), ("task", 2), ("tracked", "TRACKED")):
        project.manage("jobs", "wait", made[name], "--timeout", "30")
        shown = json.loads(project.manage("jobs", "show", made[name], "--json"))
        assert shown["result"] == result, shown
    wait_until((project.folder / "restocked-plain").exists, "their own task has run")
    assert "core.tasks.run[" not in worker.read_text(), "a run has one line, and that is ours"
    assert "shop.tasks.restock[" in worker.read_text(), "their tasks are told of as before"


def test_their_celery_task_runs_by_schedule(project, worker):
    wait_until((project.folder / "restocked-by-schedule").exists, "the schedule has fired")
    rows = json.loads(project.manage("schedules", "list", "--json"))
    assert "restock" in json.dumps(rows)


def test_their_beat_hints_at_the_schedule(project, worker):
    with program(project, "beat", "-S", "scheduler.beat:PlatformScheduler"):
        wait_until(lambda: '"beat"' in project.manage("processes", "--json"), "the beat is seen")
        (project.folder / "restocked-by-schedule").unlink()
        wait_until((project.folder / "restocked-by-schedule").exists, "the schedule goes on")


def test_the_pages_of_the_admin_open(project, worker):
    said = project.shell(ADMIN)
    assert said.count("True") >= 2, said
