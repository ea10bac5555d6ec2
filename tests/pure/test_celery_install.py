"""``jobsplatform.celery.install`` on an app that somebody has: what it changes, and that it reads nothing early."""

from __future__ import annotations

import logging
import subprocess
import sys
from types import SimpleNamespace

import pytest
from celery import Celery

from jobsplatform import celery as ours
from jobsplatform.kernel import config

EARLY = """
import celery
theirs = celery.Celery("theirs")
from jobsplatform.celery import install
install(theirs)
from django.conf import settings
assert not settings.configured, "settings were read"
assert not theirs.configured, "the app was configured"
assert celery.current_app._get_current_object() is theirs, "another app was made"
import jobsplatform.celery
try:
    jobsplatform.celery.no_such_name
except AttributeError as error:
    print(error)
"""


THREADS = """
import threading
import celery
{before}
from jobsplatform.celery import app
seen = []
thread = threading.Thread(target=lambda: seen.append(celery.current_app.main))
thread.start(); thread.join()
print(seen[0])
"""


@pytest.fixture
def theirs() -> Celery:
    return ours.install(Celery("theirs", set_as_current=False, broker="memory://localhost/"))


def test_nothing_is_read_before_a_worker_starts() -> None:
    ended = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "no attribute 'no_such_name'" in ended.stdout


@pytest.mark.parametrize(
    ("before", "seen"),
    [
        ("celery.current_app.tasks", "jobsplatform"),
        ("theirs = celery.Celery('theirs')\ntheirs.set_default()", "theirs"),
    ],
)
def test_threads_go_by_the_app_that_there_is(before: str, seen: str) -> None:
    code = THREADS.format(before=before)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.stdout.strip() == seen, ended.stderr


def test_the_steps_and_both_tasks_are_there(theirs: Celery) -> None:
    assert set(ours.STEPS) <= theirs.steps["worker"]
    theirs.loader.import_default_modules()
    assert {"core.tasks.run", "core.scheduler.trigger"} <= set(theirs.tasks)


def test_their_settings_come_before_our_defaults() -> None:
    silent, speaking = (Celery(name, set_as_current=False) for name in ("silent", "speaking"))
    speaking.conf.update(worker_hijack_root_logger=True)
    for app in (silent, speaking):
        ours.install(app)
    assert (silent.conf.worker_hijack_root_logger, speaking.conf.worker_hijack_root_logger) == (False, True)
    assert silent.conf.get("CELERY_DB_REUSE_MAX") == ours.KEEP_CONNECTIONS


@pytest.mark.parametrize(
    ("chosen", "served"), [(None, {"celery", "default", "mail"}), (["celery"], {"celery"})]
)
def test_a_worker_serves_our_queues_unless_it_is_told_which(
    theirs: Celery, monkeypatch: pytest.MonkeyPatch, chosen: list[str] | None, served: set[str]
) -> None:
    monkeypatch.setattr(ours, "run_apart", lambda work: None)
    with config.override(tasks={"queues": ("default", "mail")}):
        ours._prepare(instance=SimpleNamespace(app=theirs), options={"queues": chosen})
    queues = theirs.amqp.queues
    queues.select(chosen)
    assert set(queues.consume_from) == served
    assert all(queue.exchange.name == name for name, queue in queues.consume_from.items())


def test_the_worker_of_another_app_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "run_apart", lambda work: pytest.fail("it was looked at"))
    plain = Celery("plain", set_as_current=False, broker="memory://localhost/")
    ours._prepare(instance=SimpleNamespace(app=plain), options={})
    ours._prepare(instance=None)
    assert set(plain.amqp.queues.consume_from) == {"celery"}


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (({"id": "0192-…:3", "name": "shop.price"},), False),
        (({"id": "0192-…", "name": "shop.restock"},), True),
        ((), True),
        (("text",), True),
    ],
)
def test_celerys_lines_about_runs_are_left_out_and_no_others(told: tuple[object, ...], kept: bool) -> None:
    record = logging.LogRecord("celery.app.trace", logging.INFO, "", 0, "Task %s", told, None)
    assert ours._OwnRuns().filter(record) is kept
