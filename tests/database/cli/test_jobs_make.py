"""`jobs enqueue` and `jobs wait`: making jobs and following them."""

import json
from datetime import timedelta

import pytest

from jobsplatform.testing.factory import make_job
from tasks import control, queries
from tasks.cli import following
from tasks.handlers import job
from tasks.models import Job
from tasks.states import State
from tests.database.cli.ran import ran


@pytest.fixture
def cranked(jobs, monkeypatch):
    """Each pause of a follower turns the clock by a second and lets the workers work."""

    def turn(_: float) -> None:
        jobs.advance(1)
        jobs.drain()

    monkeypatch.setattr(following, "pause", turn)
    return jobs


@pytest.fixture
def idle(jobs, monkeypatch):
    """Each pause turns the clock; nobody works."""
    monkeypatch.setattr(following, "pause", lambda _: jobs.clock.advance(1))
    return jobs


def only_job() -> Job:
    return Job.objects.get()


def test_the_id_alone_is_printed(jobs, adding):
    answer = ran("jobs", "enqueue", "cli.adding", "--param", "first=2")
    assert answer.out == f"{only_job().id}\n"
    assert answer.err == ""
    assert only_job().params == {"first": 2, "second": 1, "note": ""}


def test_params_are_typed_by_the_handler(jobs, adding):
    ran("jobs", "enqueue", "cli.adding", "-p", "first=2", "-p", "note=5", "--param", "second:=7")
    assert only_job().params == {"first": 2, "second": 7, "note": "5"}


def test_params_come_from_a_file_with_single_ones_over_them(jobs, adding, tmp_path):
    file = tmp_path / "params.json"
    file.write_text(json.dumps({"first": 1, "note": "夜"}))
    ran("jobs", "enqueue", "cli.adding", "--params", f"@{file}", "--param", "first=9")
    assert only_job().params == {"first": 9, "second": 1, "note": "夜"}


def test_every_option_reaches_the_job(jobs, looping):
    argv = [
        "--app",
        "video",
        "--priority",
        "user_action",
        "--queue",
        "default",
        "--run-after",
        "+5m",
        "--user",
        "u1",
    ]
    argv += ["--tenant", "t1", "--dedupe-key", "d", "--concurrency-key", "c", "--max-attempts", "2"]
    answer = ran("jobs", "enqueue", "cli.looping", *argv)
    assert answer.code == 0
    row = only_job()
    assert (row.handler_key, row.priority, row.user_id, row.tenant_id) == (
        "video:cli.looping",
        1000,
        "u1",
        "t1",
    )
    assert (row.dedupe_key, row.concurrency_key, row.max_attempts) == ("d", "c", 2)
    assert row.run_after == jobs.clock.now() + timedelta(minutes=5)


def test_an_app_may_stand_before_the_type(jobs, looping):
    assert ran("jobs", "enqueue", "video:cli.looping").code == 0


def test_the_json_is_a_job_output_and_nothing_else(jobs, adding):
    shown = ran("jobs", "enqueue", "cli.adding", "--param", "first=1", "--json").json
    assert (shown["status"], shown["job_type"]) == ("pending", "cli.adding")


def test_a_repeated_idempotency_key_gives_the_same_job(jobs, adding):
    argv = ["jobs", "enqueue", "cli.adding", "--param", "first=1", "--idempotency-key", "k"]
    first, second = ran(*argv), ran(*argv)
    assert first.out == second.out
    assert "was used before" in second.err
    clash = ran(*argv[:4], "first=2", *argv[5:])
    assert clash.code == 2
    assert Job.objects.count() == 1


def test_an_alias_says_whom_it_mirrors(jobs, adding):
    argv = ["jobs", "enqueue", "cli.adding", "--param", "first=1", "--dedupe-key", "k"]
    leader = ran(*argv).out.strip()
    assert f"mirrors job {leader}" in ran(*argv).err


def test_a_type_that_wants_to_be_confirmed_is_not_made_unasked(jobs):
    @job("cli.danger", confirm="This empties the shop.")
    def danger() -> None:
        return None

    refused = ran("jobs", "enqueue", "cli.danger")
    assert (refused.code, Job.objects.count()) == (2, 0)
    assert "This empties the shop." in refused.err
    assert "--yes" in refused.err
    assert ran("jobs", "enqueue", "cli.danger", "--yes").code == 0


def test_waiting_ends_with_the_result_and_0(cranked, adding):
    answer = ran("jobs", "enqueue", "cli.adding", "--param", "first=1234", "--wait")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0] == str(only_job().id)
    assert lines[1].startswith("cli.adding completed")
    assert lines[2] == "sum  1,235"
    assert "cli.adding: pending" in answer.err
    assert "\x1b" not in answer.out + answer.err


@pytest.mark.parametrize("fixture", ["failing", "crashing"])
def test_waiting_for_a_job_that_fails_ends_with_1_and_the_reason(cranked, request, fixture):
    handler = request.getfixturevalue(fixture)
    answer = ran("jobs", "enqueue", handler.spec.job_type, "--wait")
    assert answer.code == 1
    assert "failed" in answer.out
    assert ("no luck" if fixture == "failing" else "ValueError: a bad day") in answer.out
    assert "Traceback" not in answer.out + answer.err


def test_waiting_for_json_prints_one_job_output(cranked, adding):
    shown = ran("jobs", "enqueue", "cli.adding", "--param", "first=1", "--wait", "--json").json
    assert (shown["status"], shown["result"]) == ("completed", {"sum": 2, "note": ""})


def test_a_job_that_nothing_can_run_says_so_and_is_waited_for(idle, adding):
    answer = ran("jobs", "enqueue", "cli.adding", "--param", "first=1", "--wait", "--timeout", "20s")
    assert answer.err.count("Not running: No worker is alive.") == 1
    assert answer.code == 124
    assert f"jobs wait {only_job().id}" in answer.err
    assert only_job().state == State.PENDING


def test_ctrl_c_leaves_the_job_and_says_how_to_follow_it(jobs, adding, monkeypatch):
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(following, "pause", interrupt)
    answer = ran("jobs", "enqueue", "cli.adding", "--param", "first=1", "--wait")
    assert answer.code == 130
    assert f"jobs wait {only_job().id}" in answer.err
    assert f"jobs cancel {only_job().id}" in answer.err
    assert only_job().state == State.PENDING
    assert only_job().cancel_reason == ""


def test_waiting_for_several_jobs_ends_with_the_worst(cranked, adding, failing):
    good, bad = cranked.submit(adding, {"first": 1}), cranked.submit(failing)
    assert ran("jobs", "wait", str(good)).code == 0
    answer = ran("jobs", "wait", str(good), str(bad), "--json")
    assert answer.code == 1
    assert [row["status"] for row in answer.json["jobs"]] == ["completed", "failed"]


def test_an_alias_ends_with_its_leaders_result(cranked, adding):
    argv = ["jobs", "enqueue", "cli.adding", "--param", "first=1", "--dedupe-key", "k"]
    ran(*argv)
    answer = ran(*argv, "--wait")
    assert answer.code == 0
    assert "sum  2" in answer.out


def test_a_cancelled_job_ends_the_waiting_with_1(idle, adding):
    job_id = idle.submit(adding, {"first": 1})
    control.cancel(job_id, actor=control.audit.Actor.system("test"))
    assert ran("jobs", "wait", str(job_id)).code == 1


def test_a_waiting_parent_is_as_far_as_its_children(jobs):
    parent = make_job("waiting", progress_done=956)
    make_job("completed", parent_id=parent.id, child_key="1")
    make_job("running", parent_id=parent.id, child_key="2")
    assert following.reading(queries.get_job(parent.id)).text() == "waiting 50% 1/2 children"


def test_a_timeout_without_waiting_is_refused(jobs, adding):
    assert ran("jobs", "enqueue", "cli.adding", "--param", "first=1", "--timeout", "5s").code == 2
    assert not Job.objects.exists()


def test_jobs_run_in_their_caller_where_that_is_configured(jobs_inline, adding):
    answer = ran("jobs", "enqueue", "cli.adding", "--param", "first=1", "--wait")
    assert answer.code == 0
    assert "sum  2" in answer.out
