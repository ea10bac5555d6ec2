"""What a task gains by running as a job: options, attempts, keys, and a worker that finds what it has not imported."""

import sys
from datetime import timedelta
from importlib import import_module
from uuid import UUID

import pytest
from django.core.checks import run_checks
from django.test import override_settings

from jobsplatform.kernel.errors import ConfigError, ParamsInvalid, ParamsTooLarge
from jobsplatform.testing.platform import ACTOR
from tasks import control, finding, registry
from tasks.backend import JobsBackend, task_options
from tasks.django_tasks.names import InvalidTask, TaskResultStatus
from tasks.django_tasks.options import check
from tasks.django_tasks.priorities import to_job, to_task
from tasks.models import Job
from tasks.outcomes import JobCancelled
from tasks.states import Priority, State
from tests.database.django_tasks import ours, reusable

LATE = "tests.database.django_tasks.late.newsletters"


def refreshed(result):
    result.refresh()
    return result


def test_priorities_of_tasks_are_on_our_scale():
    assert [to_job(p) for p in (-100, 0, 100)] == [
        Priority.BACKGROUND,
        Priority.NORMAL,
        Priority.USER_ACTION,
    ]
    scale = [to_job(p) for p in range(-100, 101)]
    assert scale == sorted(set(scale)) and [to_task(p) for p in scale] == list(range(-100, 101))
    assert to_task(Priority.URGENT) == 100 and to_task(-5) == -100


def test_the_job_of_a_task_shows_where_it_comes_from(jobs):
    job = jobs.job(UUID(reusable.add.using(priority=100).enqueue(1, two=2).id))
    assert job.job_type == reusable.add.module_path and job.priority == Priority.USER_ACTION
    assert job.params == {"args": [1], "kwargs": {"two": 2}, "backend": "default"}
    assert job.max_attempts == 1
    spec = registry.get("", job.job_type).spec
    assert spec.description == "Add two numbers. And more."


def test_a_task_can_be_enqueued_by_its_path_as_any_job_type(jobs):
    made = jobs.submit(reusable.add.module_path, {"args": [4]})
    jobs.drain()
    assert jobs.job(made).result == 5
    assert reusable.add.get_result(str(made)).return_value == 5


def test_attempts_that_are_left_make_a_task_ready_again(jobs):
    ours.tries.clear()
    result = ours.third_time.enqueue()
    assert jobs.job(result.id).max_attempts == 3
    jobs.drain()
    refreshed(result)
    assert (result.status, result.attempts) == (TaskResultStatus.READY, 1)
    assert result.errors[0].exception_class is ConnectionError and result.finished_at is None
    started = result.started_at
    for _ in range(2):
        jobs.advance(11)
        jobs.drain()
    refreshed(result)
    assert (result.status, result.return_value, result.attempts) == (TaskResultStatus.SUCCESSFUL, 3, 3)
    assert ["try 1" in result.errors[0].traceback, "try 2" in result.errors[1].traceback] == [True, True]
    assert result.started_at == started and result.last_attempted_at > started


def test_a_task_may_steer_its_job(jobs, told):
    for how, state, attempts in (
        ("snooze", "pending", 1),
        ("retry", "pending", 1),
        ("discard", "cancelled", 1),
    ):
        result = ours.steer.enqueue(how)
        jobs.drain()
        assert jobs.state(UUID(result.id)) == state
        assert refreshed(result).attempts == attempts
    assert result.status == TaskResultStatus.FAILED and result.errors[0].exception_class is JobCancelled
    assert "not wanted" in result.errors[0].traceback
    assert [name.split()[0] for name, _ in told].count("task_finished") == 1


def test_the_context_has_the_job(jobs):
    result = reusable.half_way.enqueue()
    jobs.drain()
    job = jobs.job(UUID(result.id))
    assert (job.progress_label, job.checkpoint) == ("half way", {"at": 1})


def test_a_cancelled_task_has_failed(jobs, told):
    result = reusable.add.enqueue(1)
    control.cancel(UUID(result.id), actor=ACTOR)
    refreshed(result)
    assert result.status == TaskResultStatus.FAILED and result.attempts == 0
    assert result.errors[0].exception_class is JobCancelled
    assert [name.split()[0] for name, _ in told] == ["task_enqueued", "task_finished"]


def test_a_lost_worker_is_an_error_that_uses_no_attempt(jobs):
    result = reusable.add.enqueue(1)
    jobs.worker.dispatch()
    jobs.worker.crash("start")
    jobs.drain()
    refreshed(result)
    assert (result.status, result.attempts) == (TaskResultStatus.SUCCESSFUL, 2)
    assert result.errors[0].exception_class.__name__ == "WorkerLostError"


def test_options_of_a_task_come_before_those_of_its_backend(jobs):
    own = registry.get("", ours.third_time.module_path).spec
    assert (own.max_attempts, own.timeout, own.max_concurrency, own.description) == (
        3,
        60.0,
        2,
        "fails twice",
    )
    path = reusable.add.module_path
    options = {"max_attempts": 4, "retention": timedelta(days=1), "tasks": {path: {"exclusive": True}}}
    backend = JobsBackend("default", {"OPTIONS": options})
    registry.unregister(f":{path}")
    spec = backend.handler_of(reusable.add).spec
    assert (spec.max_attempts, spec.exclusive, spec.retention) == (4, True, timedelta(days=1))
    registry.unregister(f":{path}")


def test_another_backend_says_how_often_its_jobs_run(jobs):
    result = reusable.fail.using(backend="other").enqueue()
    assert jobs.job(UUID(result.id)).max_attempts == 2
    once = reusable.fail.using(backend="other", max_attempts=1).enqueue()
    assert jobs.job(UUID(once.id)).max_attempts == 1
    assert registry.get("", reusable.fail.module_path).spec.max_attempts == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_atempts": 2}, "Did you mean 'max_attempts'"),
        ({"queue": "mail"}, "'queue' is no option of a task"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"timeout": 5, "soft_timeout": 9}, "must be below"),
        ({"tasks": {"a.b": {"timeout": -1}}}, "timeout"),
        ({"tasks": ["a.b"]}, "a dict from the path"),
        (["max_attempts"], "expected a dict"),
    ],
)
def test_options_that_make_no_sense_are_told_by_the_checks(options, message):
    with pytest.raises(ConfigError, match=message):
        check(options)
    found = list(JobsBackend("default", {"OPTIONS": options, "QUEUES": ["default"]}).check())
    assert [each.id for each in found] == ["jobsplatform.tasks.E010"] and "default" in found[0].msg


def test_the_checks_of_backends_are_those_of_the_project():
    wrong = {"BACKEND": "tasks.backend.JobsBackend", "QUEUES": [], "OPTIONS": {"queue": "mail"}}
    with override_settings(TASKS={"default": wrong}):
        assert [each.id for each in run_checks() if each.id == "jobsplatform.tasks.E010"] == [
            "jobsplatform.tasks.E010"
        ]


def test_a_queue_that_nobody_serves_is_told_by_the_checks():
    found = list(JobsBackend("default", {"QUEUES": ["default", "nights"]}).check())
    assert [each.id for each in found] == ["jobsplatform.tasks.W010"] and "'nights'" in found[0].msg
    assert list(JobsBackend("default", {}).check()) == []


def test_a_wrong_option_is_refused_where_the_task_is_declared():
    def declare():
        return reusable.task(task_options(timeot=3)(wrongly_optioned))

    with pytest.raises(InvalidTask, match="Did you mean 'timeout'"):
        declare()
    with pytest.raises(InvalidTask, match="using.. has no option 'timeout'"):
        reusable.add.using(timeout=3)
    with pytest.raises(InvalidTask, match="Did you mean 'dedupe_key'"):
        reusable.add.using(dedupe="x", dedup_key="y")


def wrongly_optioned() -> None: ...


def test_a_task_whose_path_is_another_job_type_is_refused():
    from jobsplatform import job

    with registry.preserved():
        job(f"{__name__}.wrongly_named")(lambda: None)
        with pytest.raises(InvalidTask, match="declared twice"):
            reusable.task(wrongly_named)


def wrongly_named() -> None: ...


def test_keys_are_given_with_using(jobs):
    once = reusable.add.using(idempotency_key="order-7")
    first, second = once.enqueue(1), once.enqueue(1)
    assert first.id == second.id and Job.objects.count() == 1
    leader = reusable.add.using(dedupe_key="shop")
    one, two = leader.enqueue(1), leader.using(priority=3).enqueue(5)
    assert one.id != two.id
    jobs.drain()
    assert [refreshed(one).return_value, refreshed(two).return_value] == [2, 2], "an alias shows its leader"


def test_params_are_kept_as_strictly_as_those_of_any_job(jobs):
    with pytest.raises(ParamsInvalid, match="NaN"):
        reusable.echo.enqueue(float("nan"))
    with pytest.raises(ParamsInvalid, match="keys must be text"):
        reusable.echo.enqueue({1: 2})
    with pytest.raises(ParamsTooLarge):
        reusable.echo.enqueue("x" * 300_000)
    assert Job.objects.count() == 0


def _forget_late() -> None:
    registry.unregister(f":{LATE}.send")
    sys.modules.pop(LATE, None)
    finding.forget()


@pytest.fixture
def late(jobs):
    """A job of a task whose module this process has not imported."""
    result = import_module(LATE).send.enqueue(3)
    _forget_late()
    yield result
    _forget_late()


def test_a_worker_finds_the_task_of_a_job_that_it_does_not_know(jobs, late):
    worker = jobs.add_worker()
    assert worker.dispatch() == [] and LATE not in sys.modules
    assert finding.has_noticed() and finding.learn() and not finding.has_noticed()
    assert LATE in sys.modules
    jobs.drain()
    assert refreshed(late).return_value == "newsletter 3"


def test_a_pool_process_finds_it_too(jobs, late):
    keys = registry.keys() | {f":{LATE}.send"}  # its parent knew
    worker = jobs.add_worker(keys=keys)
    worker.work()
    assert refreshed(late).return_value == "newsletter 3"


def test_a_task_of_a_newer_release_stays_pending(jobs, late):
    Job.objects.filter(id=late.id).update(job_type=f"{LATE}.send_twice", handler_key=f":{LATE}.send_twice")
    worker = jobs.add_worker()
    for _ in range(2):
        assert worker.dispatch() == [] and not (finding.has_noticed() and finding.learn())
    assert not finding.has_noticed(), "it is looked for once"
    assert jobs.state(UUID(late.id)) == State.PENDING


@pytest.mark.parametrize(
    "path", ["no.such.module.task", "os.getcwd", "shutil", "tests.database.django_tasks"]
)
def test_what_is_no_task_is_not_taken_for_one(db, path):
    finding.notice([f":{path}", "video:scan"])
    assert not finding.learn()
    assert finding.find("", path) is None


class Derived(JobsBackend):
    """A backend that somebody has made of ours."""


@pytest.mark.parametrize("path", [f"{__name__}.Derived"])
def test_a_backend_made_of_ours_finds_its_tasks(late, path):
    with override_settings(TASKS={"default": {"BACKEND": path}}):
        assert finding.find("", f"{LATE}.send") is not None


def test_without_our_backend_nothing_is_looked_for(late):
    with override_settings(TASKS={"default": {"BACKEND": "elsewhere.Backend"}}):
        assert finding.find("", f"{LATE}.send") is None
    assert LATE not in sys.modules
