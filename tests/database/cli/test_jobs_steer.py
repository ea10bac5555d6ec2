"""`jobs cancel`, `retry`, `resume` and `purge`: steering jobs, each with its audit record."""

from datetime import timedelta

import pytest

from jobsplatform.kernel.models import AuditEvent
from jobsplatform.testing.factory import make_job
from tasks.models import Job
from tasks.states import State
from tests.database.cli.ran import ran


def states() -> dict[str, str]:
    return {str(row.id): row.state for row in Job.objects.all()}


def family() -> tuple[Job, list[Job]]:
    parent = make_job("waiting")
    return parent, [make_job(parent_id=parent.id, child_key=str(n)) for n in range(3)]


def test_a_cancel_takes_the_children_along(jobs):
    parent, children = family()
    answer = ran("jobs", "cancel", str(parent.id))
    assert answer.code == 0
    assert "cancelled, and 3 of its children" in answer.out
    assert set(states().values()) == {"cancelled"}


def test_a_cancel_leaves_the_children_alone_when_told_so(jobs):
    parent, children = family()
    ran("jobs", "cancel", str(parent.id), "--no-children")
    assert [states()[str(child.id)] for child in children] == ["pending"] * 3


def test_a_running_job_is_asked_and_asked_once(jobs):
    row = make_job("running")
    assert "asked to stop" in ran("jobs", "cancel", str(row.id)).out
    assert "before" in ran("jobs", "cancel", str(row.id)).out
    assert Job.objects.get().cancel_reason == "user"


def test_an_ended_job_stays_as_it_is(jobs):
    row = make_job("completed")
    answer = ran("jobs", "cancel", str(row.id), "--json")
    assert answer.code == 0
    (told,) = answer.json["jobs"]
    assert (told["how"], told["status"]) == ("already_ended", "completed")


def test_one_wrong_id_does_not_stop_the_others(jobs):
    row = make_job()
    answer = ran("jobs", "cancel", "nonsense", str(row.id))
    assert answer.code == 2
    assert "nonsense" in answer.err
    assert states()[str(row.id)] == "cancelled"


def test_a_filter_asks_before_it_cancels(jobs):
    make_job(queue="mail")
    kept = make_job()
    refused = ran("jobs", "cancel", "--queue", "mail")
    assert (refused.code, set(states().values())) == (2, {"pending"})
    assert "Cancel 1 jobs? Nobody can be asked here: say --yes." in refused.err
    assert ran("jobs", "cancel", "--queue", "mail", "--dry-run").out == "1 job would be cancelled.\n"
    assert ran("jobs", "cancel", "--queue", "mail", "--yes", "--json").json == {"count": 1, "dry_run": False}
    assert states()[str(kept.id)] == "pending"


@pytest.mark.parametrize("argv", [[], ["--yes"]])
def test_a_cancel_of_nothing_in_particular_is_refused(jobs, argv):
    make_job()
    assert ran("jobs", "cancel", *argv).code == 2
    assert set(states().values()) == {"pending"}


def test_ids_and_a_filter_together_are_refused(jobs):
    row = make_job()
    assert ran("jobs", "cancel", str(row.id), "--queue", "default").code == 2


def test_a_dry_run_cancels_nothing(jobs):
    row = make_job()
    assert "would cancel" in ran("jobs", "cancel", str(row.id), "--dry-run").out
    assert states()[str(row.id)] == "pending"


def test_a_failed_job_runs_again(jobs, crashing):
    job_id = jobs.submit(crashing)
    jobs.drain()
    answer = ran("jobs", "retry", str(job_id), "--json")
    assert answer.json == {"jobs": [{"id": str(job_id), "job_id": str(job_id), "status": "pending"}]}
    assert jobs.state(job_id) is State.PENDING


def test_only_what_failed_can_be_retried_and_only_what_is_paused_resumed(jobs):
    row = make_job("running")
    for verb in ("retry", "resume"):
        answer = ran("jobs", verb, str(row.id))
        assert answer.code == 2
        assert "is running" in answer.err


def test_a_paused_job_goes_on(jobs):
    row = make_job("paused")
    assert ran("jobs", "resume", str(row.id)).code == 0
    assert states()[str(row.id)] == "pending"


def test_a_purge_removes_what_ended_long_ago(jobs):
    now = jobs.clock.now()
    old = make_job("completed", finished_at=now - timedelta(days=8))
    failed = make_job("failed", finished_at=now - timedelta(days=8))
    new, running = make_job("completed"), make_job("running")
    assert ran("jobs", "purge", "--older-than", "7d", "--dry-run").out == "2 jobs would be removed.\n"
    assert ran("jobs", "purge", "--older-than", "7d").code == 2
    argv = ["jobs", "purge", "--older-than", "7d", "--state", "completed", "--yes", "--json"]
    assert ran(*argv).json == {"count": 1, "dry_run": False}
    assert str(old.id) not in states()
    assert set(states()) == {str(row.id) for row in (failed, new, running)}


def test_a_purge_of_what_has_not_ended_is_refused(jobs):
    make_job("running")
    answer = ran("jobs", "purge", "--state", "running", "--yes")
    assert answer.code == 2
    assert "cancel them first" in answer.err


def test_every_change_is_on_record_with_the_account(jobs, monkeypatch):
    monkeypatch.setenv("LOGNAME", "olga")
    ran("jobs", "cancel", str(make_job().id))
    ran("jobs", "resume", str(make_job("paused").id))
    ran("jobs", "retry", str(make_job("failed").id))
    ran("suspend", "all")
    ran("unsuspend", "all")
    recorded = list(AuditEvent.objects.order_by("pk").values_list("actor", "actor_kind"))
    assert recorded == [("olga", "cli")] * 5
