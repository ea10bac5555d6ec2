"""`jobs list`, `show`, `progress` and `tail`: looking at jobs."""

from datetime import timedelta

import pytest

from jobsplatform.kernel.ids import uuid7
from jobsplatform.testing.factory import make_job
from tasks.cli.jobs import tail
from tasks.models import JobAttempt
from tests.database.cli.ran import ran

OUTPUT_KEYS = {
    "id", "app_id", "job_type", "status", "reason", "cause", "attempt", "lease", "priority", "queue", "user_id",
    "tenant_id", "params", "data", "progress", "result", "error", "parent_id", "alias_job_id", "dedupe_key",
    "schedule_id", "planned_at", "run_after", "created_at", "started_at", "finished_at",
}  # fmt: skip
NAMES = ["Überprüfung nachts", "夜間バックアップ", "🚀 nightly", "نسخ احتياطي", 'it\'s 100% "fine"']


def test_an_empty_list_says_so(jobs):
    answer = ran("jobs", "list")
    assert (answer.code, answer.out, answer.err) == (0, "", "No jobs.\n")


def test_the_list_is_newest_first_and_pages_by_cursor(jobs):
    made = [str(make_job(job_type="a").id) for _ in range(5)]
    first = ran("jobs", "list", "--limit", "3", "--json").json
    assert [row["id"] for row in first["jobs"]] == made[:1:-1]
    second = ran("jobs", "list", "--limit", "3", "--json", "--after", first["next"]).json
    assert [row["id"] for row in second["jobs"]] == made[1::-1]
    assert second["next"] is None
    assert f"--after {first['next']}" in ran("jobs", "list", "--limit", "3").err


def test_the_json_is_the_one_shape_of_a_job(jobs):
    make_job("failed")
    (row,) = ran("jobs", "list", "--json").json["jobs"]
    assert set(row) == OUTPUT_KEYS
    assert row["created_at"].endswith("Z")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--state", "failed"], {"b"}),
        (["--state", "failed", "--state", "running"], {"b", "c"}),
        (["--type", "a"], {"a"}),
        (["--type", "video:d"], {"d"}),
        (["--app", "video"], {"d"}),
        (["--app", ""], {"a", "b", "c"}),
        (["--app", "video", "--type", "d"], {"d"}),
        (["--queue", "mail"], {"a"}),
        (["--user", "u1"], {"a"}),
        (["--tenant", "t1"], {"b"}),
        (["--tenant", ""], {"a", "c", "d"}),
        (["--dedupe-key", "k"], {"c"}),
        (["--schedule", "nightly"], {"d"}),
        (["--priority", "urgent"], {"a"}),
        (["--min-priority", "1000"], {"a", "b"}),
        (["--max-priority", "normal"], {"c", "d"}),
        (["--created-after", "90m"], {"b", "c", "d"}),
        (["--created-before", "1h"], {"a"}),
        (["--finished-after", "2026-01-01"], {"b"}),
        (["--finished-before", "2026-01-01"], set()),
        (["--data", "step=2"], {"d"}),
        (["--data", "name=x"], {"d"}),
        (["--data", "step=2", "--data", "name=y"], set()),
    ],
)
def test_options_choose(jobs, options, expected):
    now = jobs.clock.now()
    make_job(job_type="a", queue="mail", user_id="u1", priority=5000, created_at=now - timedelta(hours=2))
    make_job("failed", job_type="b", tenant_id="t1", priority=1000)
    make_job("running", job_type="c", dedupe_key="k")
    make_job(app_id="video", job_type="d", schedule_id="nightly", data={"step": 2, "name": "x"})
    found = ran("jobs", "list", "--json", *options).json["jobs"]
    assert {row["job_type"] for row in found} == expected


def test_children_are_chosen_by_their_parent(jobs):
    parent = make_job("waiting")
    child = make_job(parent_id=parent.id, child_key="1")
    (row,) = ran("jobs", "list", "--parent", str(parent.id), "--json").json["jobs"]
    assert row["id"] == str(child.id)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_any_script_are_listed_and_shown(jobs, name):
    made = make_job(job_type=name, user_id=name)
    assert name in ran("jobs", "list").out
    assert name in ran("jobs", "show", str(made.id)).out
    (row,) = ran("jobs", "list", "--json", "--type", name, "--user", name).json["jobs"]
    assert (row["job_type"], row["user_id"]) == (name, name)


def test_a_job_shows_its_facts_attempts_and_last_traceback(jobs, crashing):
    job_id = jobs.submit(crashing, priority=1000, user_id="u1")
    jobs.drain()
    shown = ran("jobs", "show", str(job_id)).out
    for part in (
        "cli.crashing",
        "failed",
        "handler",
        "user_action",
        "u1",
        "1 of 1",
        "ValueError",
        "a bad day",
    ):
        assert part in shown
    assert "last traceback" in shown
    assert 'raise ValueError("a bad day")' in shown


def test_a_job_that_does_not_run_says_why(jobs, adding):
    job_id = jobs.submit(adding, {"first": 1})
    assert "Not running: No worker is alive." in ran("jobs", "show", str(job_id)).out
    assert ran("jobs", "show", str(job_id), "--json").json["why_not_running"] == "No worker is alive."


def test_the_json_of_one_job_has_more(jobs, crashing):
    job_id = jobs.submit(crashing)
    jobs.drain()
    shown = ran("jobs", "show", str(job_id), "--json").json
    assert set(shown) == OUTPUT_KEYS | {"why_not_running", "attempts", "children", "aliases"}
    (attempt,) = shown["attempts"]
    assert attempt["error_type"] == "ValueError"
    assert shown["why_not_running"] is None


def test_children_and_aliases_are_counted(jobs):
    parent = make_job("waiting")
    for key, state in (("1", "completed"), ("2", "running"), ("3", "completed")):
        make_job(state, parent_id=parent.id, child_key=key)
    assert "2 of 3 ended (1 running, 2 completed)" in ran("jobs", "show", str(parent.id)).out
    leader = make_job("running", dedupe_key="k")
    alias = make_job(dedupe_key="k", role="alias", leader_id=leader.id)
    assert str(alias.id) in ran("jobs", "show", str(leader.id)).out
    assert f"alias of    {leader.id} (running)" in ran("jobs", "show", str(alias.id)).out


def test_text_of_a_job_cannot_steer_the_terminal(jobs):
    made = make_job("failed", error="\x1b[2Jgone", job_type="evil\u202ename", data={"k": "\x1b[31m"})
    JobAttempt.objects.create(
        job=made, lease=1, number=1, outcome="fail", started_at=jobs.clock.now(), finished_at=jobs.clock.now(),
        error="\x1b[2J", traceback="\x1b[2J\nline",
    )  # fmt: skip
    for answer in (
        ran("jobs", "list"),
        ran("jobs", "show", str(made.id)),
        ran("jobs", "progress", str(made.id)),
    ):
        assert answer.code == 0
        assert not set(answer.out) & set("\x1b\u202e")


def test_a_job_whose_retention_has_passed_is_not_taken_for_pending(jobs):
    answer = ran("jobs", "show", str(uuid7()))
    assert answer.code == 2
    assert "retention has passed" in answer.err


def test_progress_says_how_far(jobs):
    parent = make_job("running", progress_done=3, progress_total=10, progress_label="third")
    make_job("completed", parent_id=parent.id, child_key="1")
    answer = ran("jobs", "progress", str(parent.id))
    assert answer.out == "test.job: running 30% 3/10 third\nchildren: 1 of 1 ended (1 completed)\n"
    told = ran("jobs", "progress", str(parent.id), "--json").json
    assert set(told) == {"id", "status", "progress", "children"}
    assert told["progress"]["pct"] == 30


def test_tail_prints_each_move_once(jobs, adding, monkeypatch):
    make_job("completed", job_type="old", updated_at=jobs.clock.now() - timedelta(hours=1))
    steps = iter(
        [lambda: jobs.submit(adding, {"first": 1}), jobs.worker.dispatch, jobs.worker.run, lambda: None]
    )

    def turn(_: float) -> None:
        jobs.advance(1)
        next(steps)()

    monkeypatch.setattr(tail, "pause", turn)
    answer = ran("jobs", "tail", "--for", "4s")
    assert [line.split()[1] for line in answer.out.splitlines()] == ["pending", "dispatched", "completed"]
    assert "old" not in answer.out


def test_tail_follows_a_filter_and_speaks_json_lines(jobs, monkeypatch):
    def turn(_: float) -> None:
        jobs.advance(1)
        make_job(job_type="a", queue="mail")
        make_job(job_type="b")

    monkeypatch.setattr(tail, "pause", turn)
    answer = ran("jobs", "tail", "--for", "1s", "--json", "--queue", "default")
    assert '"job_type": "b"' in answer.out
    assert '"job_type": "a"' not in answer.out
