"""What a run writes while it works: progress, checkpoints, data, children."""

from __future__ import annotations

from jobsplatform_sdk.conformance.platform import Platform


def test_the_last_progress_is_never_lost(jp: Platform) -> None:
    job = jp.run("conf.progress", {"steps": 500})
    assert job.status == "completed" and job.result == {"steps": 500}, job
    assert (job.progress.done, job.progress.total, job.progress.label) == (500, 500, "step 500")


def test_progress_is_seen_while_the_run_goes_on(jp: Platform) -> None:
    job = jp.at_gate(jp.create("conf.gate").id)
    jp.when(job.id, lambda now: now.progress.label == "at the gate", "the progress is written")
    assert jp.open_gate(job).result == {"runs": 1, "attempt": 1}


def test_a_run_goes_on_from_its_checkpoint(jp: Platform) -> None:
    job = jp.run("conf.checkpoint", {"steps": 5, "fail_at": 4})
    assert job.status == "completed" and job.result == {"begun_at": 3, "attempt": 2}, job


def test_data_is_merged_over_what_is_there(jp: Platform) -> None:
    params = {"first": {"a": 1, "b": {"c": 2}}, "second": {"b": None, "d": [3]}}
    job = jp.run("conf.merge", params, data={"a": 0, "kept": True})
    whole = {"a": 1, "b": None, "d": [3], "kept": True}
    assert job.status == "completed" and job.result == whole and job.data == whole, job


def test_children_are_made_once_and_their_parent_gathers_them(jp: Platform) -> None:
    job = jp.run("conf.children", {"values": [1, 2, 3]})
    assert job.status == "completed", job
    assert job.result == {f"v{n}": ["completed", n] for n in (1, 2, 3)}
    children = jp.client.jobs.query({"parent": job.id}).jobs
    assert len(children) == 3 and {child.parent_id for child in children} == {job.id}
    summary = jp.client.jobs.progress_summary(parent_id=job.id)
    assert (summary.total, summary.done, summary.pct) == (3, 3, 100)


def test_a_failed_child_fails_its_parent(jp: Platform) -> None:
    job = jp.run("conf.children", {"values": [1], "failing": 1})
    assert job.status == "failed", job


def test_unless_its_parent_ignores_that(jp: Platform) -> None:
    job = jp.run("conf.children", {"values": [1], "failing": 1, "on_failure": "ignore"})
    assert job.status == "completed", job
    assert job.result == {"v1": ["completed", 1], "f0": ["failed", None]}
