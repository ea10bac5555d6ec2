"""The progress of many runs of a process is one statement, and a row that is held holds up no other."""

import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from jobsplatform.kernel import clock
from jobsplatform.kernel.loop import wait_until
from tasks import reporter, transitions
from tasks.models import Job
from tasks.reporter import ThreadPort
from tasks.sql.progress import Report
from tasks.states import CancelReason
from tests.database.handlers.rows import held_elsewhere, running_job

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    yield
    assert reporter.close_all()


def row(job: Job) -> Job:
    return Job.objects.get(id=job.id)


def test_the_progress_of_many_runs_is_written_together(monkeypatch: pytest.MonkeyPatch) -> None:
    together: list[int] = []
    real = transitions.progress_many

    def counted(reports: Any, now: Any) -> Any:
        written = real(reports, now)
        together.append(len(written))
        return written

    monkeypatch.setattr(transitions, "progress_many", counted)
    ports = [ThreadPort(running_job()) for _ in range(5)]
    for done in range(1, 200):
        for port in ports:
            port.progress(done, 200, "")
        if 5 in together:
            break
        threading.Event().wait(0.02)
    assert 5 in together
    for port in ports:
        port.close()


def test_a_row_that_somebody_holds_keeps_no_other_run_from_telling() -> None:
    held, other, gone = running_job(), running_job(), running_job()
    reports = [Report(job.id, job.lease, 1, 2, "so far") for job in (held, other)]
    reports.append(Report(gone.id, gone.lease + 1, 1, 2, ""))
    before = row(other).revision
    with held_elsewhere(lambda: Job.objects.select_for_update().get(id=held.id)):
        assert transitions.progress_many(reports, clock.now()) == {(other.id, other.lease)}
    assert (row(other).progress_done, row(other).progress_label) == (1, "so far")
    assert row(other).revision == before + 1 and row(other).progress_at is not None
    assert row(held).progress_done is None and row(gone).progress_done is None


def lock_the_table() -> None:
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE tasks_job IN SHARE MODE")


def test_a_table_that_is_locked_keeps_nobody_from_being_asked_to_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = [running_job() for _ in range(2)]
    ports = [ThreadPort(job, watch_parent=True) for job in runs]
    for port in ports:
        port.progress(0, 2, "")
    wait_until(lambda: {row(job).progress_done for job in runs} == {0}, 10)
    with held_elsewhere(lock_the_table):
        for port in ports:
            port.progress(1, 2, "")
        wait_until(lambda: all(port._state.due_in() == 0.0 for port in ports), 10)
        monkeypatch.setattr(os, "getppid", lambda: -1)  # what a look at the rows finds out, too
        assert wait_until(ports[0].cancel_reason, 5) is CancelReason.SHUTDOWN
    wait_until(lambda: {row(job).progress_done for job in runs} == {1}, 10)
    for port in ports:
        port.close()
