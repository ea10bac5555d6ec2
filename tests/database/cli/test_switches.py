"""`suspend`, `unsuspend`, `handlers` and `processes`."""

from datetime import timedelta

import pytest

from jobsplatform.kernel import processes
from jobsplatform.testing.factory import make_job
from tasks.models import Suspension
from tests.database.cli.ran import ran


@pytest.mark.parametrize(
    ("argv", "target"),
    [
        (["all"], ""),
        (["queue", "default"], "default"),
        (["type", "cli.adding"], ":cli.adding"),
        (["type", "video:cli.looping"], "video:cli.looping"),
        (["app", "video"], "video"),
    ],
)
def test_a_suspension_is_made_listed_and_lifted(jobs, adding, looping, argv, target):
    assert ran("suspend", *argv, "--reason", "disk full", "--expires", "+1h").code == 0
    row = Suspension.objects.get()
    assert (row.scope, row.target, row.reason) == (argv[0], target, "disk full")
    assert row.expires_at == jobs.clock.now() + timedelta(hours=1)
    listed = ran("suspend")
    assert " ".join(argv) in listed.out
    assert "disk full" in listed.out
    (told,) = ran("suspend", "--list", "--json").json["suspensions"]
    assert (told["scope"], told["target"], told["expires_at"]) == (argv[0], target, "2026-01-01T13:00:00Z")
    assert ran("unsuspend", *argv).code == 0
    assert ran("suspend", "--list").out == "Nothing is suspended.\n"


def test_a_suspension_can_interrupt(jobs):
    made = ran("suspend", "all", "--interrupt", "--json").json["suspensions"][0]
    assert made["interrupt"] is True


def test_an_unsuspend_names_what_is_suspended(jobs):
    ran("suspend", "all")
    assert "all is." in ran("unsuspend", "queue", "default").err


def test_handlers_are_listed_with_the_workers_that_know_them(jobs, adding, looping):
    jobs.add_worker(keys=frozenset({":cli.adding", "video:newer"}))
    lines = {line.split()[0]: line for line in ran("handlers").out.splitlines()}
    assert "Adds two numbers." in lines["cli.adding"]
    assert "timeout 1m00s" in lines["cli.adding"]
    assert lines["cli.adding"].split("1m00s")[1].split()[0] == "1"
    assert "known to a worker only" in lines["video:newer"]
    told = ran("handlers", "--json").json
    (one,) = [each for each in told["handlers"] if each["key"] == ":cli.adding"]
    assert (one["queue"], one["timeout"], len(one["workers"])) == ("default", 60.0, 1)
    assert told["elsewhere"] == ["video:newer"]


def test_a_handler_is_described_with_its_schema(jobs, adding):
    told = ran("handlers", "cli.adding").out
    assert "Adds two numbers." in told
    assert "none: its jobs wait" in told
    shown = ran("handlers", "cli.adding", "--json").json
    assert set(shown["schema"]["properties"]) == {"first", "second", "note"}


def test_processes_show_who_is_live_silent_and_ended(jobs):
    live = jobs.add_worker()
    silent = jobs.add_worker()
    stopped = jobs.add_worker()
    processes.stop(stopped.id, jobs.clock.now())
    silent.die()
    jobs.advance(60)
    make_job("running", worker_id=live.id)
    told = {row["name"]: row for row in ran("processes", "--json").json["processes"]}
    assert {name: row["state"] for name, row in told.items()} == {"hand-0": "live", "hand-1": "silent"}
    assert (told["hand-0"]["busy"], told["hand-0"]["slots"]) == (1, 4)
    assert told["hand-1"]["heartbeat_age_seconds"] == 60
    everyone = {row["name"]: row["state"] for row in ran("processes", "--all", "--json").json["processes"]}
    assert everyone["hand-2"] == "stopped"
    shown = ran("processes").out
    assert "1/4" in shown
    assert "silent" in shown


def test_no_process_says_what_to_start(jobs):
    assert "runplatform" in ran("processes").out


@pytest.mark.parametrize(
    ("scope", "target"), [("type", "gone.type"), ("type", "video:gone"), ("queue", "gone"), ("app", "gone")]
)
def test_what_no_release_knows_any_more_can_still_be_lifted(jobs, scope, target):
    stored = f":{target}" if scope == "type" and ":" not in target else target
    Suspension.objects.create(scope=scope, target=stored, author="ann", created_at=jobs.clock.now())
    answer = ran("unsuspend", scope, target)
    assert (answer.code, answer.out) == (0, f"Lifted: {scope} {target}.\n")
    assert Suspension.objects.get().lifted_at is not None
