"""files.scan from submit to totals, on the real way of a job."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobsplatform.kernel import config
from jobsplatform.testing.platform import ACTOR, HandPlatform
from tasks import control, output, queries
from tasks.builtin.files.scan import scan
from tasks.models import Job
from tasks.states import CancelReason, State
from tests.pure.builtin.trees import plant


def test_a_tree_is_scanned_by_a_parent_and_a_child_per_folder(jobs: HandPlatform, tmp_path: Path) -> None:
    plant(tmp_path)
    job_id = jobs.submit(scan, {"root": str(tmp_path)}, queue="default", priority=1000)
    jobs.worker.dispatch()
    jobs.worker.run()
    assert jobs.state(job_id) is State.WAITING
    children = list(queries.children_of(job_id))
    assert len(children) == 7
    assert {(child.priority, child.job_type) for child in children} == {(1000, "files.scan_folder")}
    jobs.drain()
    done = jobs.job(job_id)
    assert done.state == State.COMPLETED, done.error
    assert (done.result["files"], done.result["complete"], done.result["folders"]) == (15, True, 9)
    assert done.result["duplicates"]["groups"] == 1
    assert done.result["unreadable"]["count"] == 4
    assert queries.children_summary(job_id)["pct"] == 100
    shown = json.dumps(output.job_output(queries.children_of(job_id).get(child_key="2:odd")))
    assert "latin-" in shown and "line" in shown


def test_a_child_shows_its_progress_and_an_exact_end(jobs: HandPlatform, tmp_path: Path) -> None:
    plant(tmp_path)
    job_id = jobs.submit(scan, {"root": str(tmp_path)})
    jobs.drain()
    child = queries.children_of(job_id).get(child_key="1:images")
    assert (child.progress_done, child.progress_total) == (4, 4)


def test_cancelling_the_scan_stops_its_children(jobs: HandPlatform, tmp_path: Path) -> None:
    plant(tmp_path)
    job_id = jobs.submit(scan, {"root": str(tmp_path)})
    jobs.worker.dispatch()
    jobs.worker.run()
    control.cancel(job_id, actor=ACTOR, cascade=True)
    jobs.drain()
    assert jobs.state(job_id) is State.CANCELLED
    assert set(queries.children_of(job_id).values_list("state", flat=True)) == {State.CANCELLED}


def test_an_interrupted_child_goes_on_at_its_checkpoint(jobs: HandPlatform, tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number:02}").write_text("same")
    job_id = jobs.submit(scan, {"root": str(tmp_path)})
    jobs.worker.dispatch()
    jobs.worker.run()
    inner = jobs.make_port
    looks = iter(range(100))

    def stopping(row: Job, handler: object) -> object:
        port = inner(row, handler)  # type: ignore[arg-type]
        told = port.cancel_reason
        port.cancel_reason = lambda: CancelReason.SHUTDOWN if next(looks) >= 15 else told()  # type: ignore[method-assign]
        return port

    jobs.make_port = stopping  # type: ignore[assignment]
    jobs.worker.dispatch()
    jobs.worker.run()
    child = queries.children_of(job_id).get()
    assert child.state == State.PENDING
    assert 0 < child.checkpoint["done"] < 20
    jobs.make_port = inner
    jobs.drain()
    done = jobs.job(job_id)
    assert done.state == State.COMPLETED
    assert (done.result["files"], done.result["duplicates"]["copies"]) == (20, 19)


def test_a_parent_that_crashed_after_it_had_spawned_makes_no_second_set(
    jobs: HandPlatform, tmp_path: Path
) -> None:
    plant(tmp_path)
    job_id = jobs.submit(scan, {"root": str(tmp_path)})
    jobs.worker.dispatch()
    inner = jobs.make_port

    class Died(BaseException):
        pass

    def dying(row: Job, handler: object) -> object:
        port = inner(row, handler)  # type: ignore[arg-type]
        spawn = port.spawn

        def spawn_and_die(*args: object) -> object:
            spawn(*args)  # type: ignore[arg-type]
            raise Died

        port.spawn = spawn_and_die  # type: ignore[method-assign,assignment]
        return port

    jobs.make_port = dying  # type: ignore[assignment]
    jobs.worker.run()
    jobs.make_port = inner
    made = set(queries.children_of(job_id).values_list("id", flat=True))
    (tmp_path / "aaa").mkdir()
    (tmp_path / "aaa" / "new").touch()
    assert len(made) == 7
    for _ in range(5):
        jobs.drain()
        jobs.advance(600)
        jobs.sweep()
    assert jobs.state(job_id) is State.COMPLETED
    assert set(queries.children_of(job_id).values_list("id", flat=True)) == made


def test_a_root_that_is_not_allowed_fails_at_once(jobs: HandPlatform, tmp_path: Path) -> None:
    with config.override(tasks={"files_scan_roots": ["/srv/only-here"]}):
        job_id = jobs.submit(scan, {"root": str(tmp_path)})
        jobs.drain()
    done = jobs.job(job_id)
    assert (done.state, done.failures) == (State.FAILED, 1)
    assert "TASKS__FILES_SCAN_ROOTS" in done.error


def test_an_empty_folder_is_scanned_without_children(jobs: HandPlatform, tmp_path: Path) -> None:
    job_id = jobs.submit(scan, {"root": str(tmp_path)})
    jobs.drain()
    assert jobs.state(job_id) is State.COMPLETED
    assert jobs.job(job_id).result["files"] == 0


@pytest.mark.parametrize("children", [1, 3])
def test_the_sync_provider_scans_in_the_caller(jobs_inline: None, tmp_path: Path, children: int) -> None:
    plant(tmp_path)
    result = scan.enqueue(root=str(tmp_path), max_children=children)
    assert result.id is not None
    done = queries.get_job(result.id)
    assert done.state == State.COMPLETED, (done.state, done.reason, done.hold)
    assert done.result["files"] == 15
