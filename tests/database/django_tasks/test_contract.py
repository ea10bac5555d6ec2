"""What the documentation of Django's task framework says of every backend, held against ours."""

from datetime import datetime, timedelta
from importlib import import_module

import pytest
from asgiref.sync import async_to_sync
from django.db import transaction
from django.test import override_settings

from tasks.backend import JobsBackend
from tasks.django_tasks.names import (
    InvalidTask,
    Task,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_backends,
)
from tests.database.django_tasks import reusable
from tests.database.django_tasks.conftest import TASKS

framework = import_module(Task.__module__.partition(".base")[0])
task = framework.task


def module_level() -> None: ...


def takes_no_context(word: str) -> None: ...


def done(result):
    result.refresh()
    assert result.is_finished
    return result


# -- enqueue, and what became of it --------------------------------------------------------------------


def test_an_enqueued_task_is_ready_and_knows_its_arguments(jobs):
    result = reusable.add.enqueue(1, two=2)
    assert result.status == TaskResultStatus.READY and not result.is_finished
    assert isinstance(result.id, str) and 0 < len(result.id) <= 64
    assert (result.args, result.kwargs, result.backend) == ([1], {"two": 2}, "default")
    assert result.task == reusable.add
    assert result.enqueued_at == jobs.clock.now()
    assert (result.started_at, result.last_attempted_at, result.finished_at) == (None, None, None)
    assert (result.attempts, result.worker_ids, result.errors) == (0, [], [])
    with pytest.raises(ValueError):
        _ = result.return_value


def test_a_stored_result_equals_the_one_that_enqueue_gave(jobs):
    later = reusable.echo.using(priority=-7, run_after=jobs.clock.now() + timedelta(hours=1))
    for result in (reusable.add.enqueue(1), later.enqueue("a", b=["c", None, 1.5])):
        assert result.task.get_result(result.id) == result


def test_a_task_that_has_run_tells_its_value_and_times(jobs):
    result = reusable.add.enqueue(1, two=2)
    jobs.advance(5)
    jobs.drain()
    assert not result.is_finished, "a result changes only when it is refreshed"
    result = done(result)
    assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, 3)
    assert result.enqueued_at < result.started_at == result.last_attempted_at <= result.finished_at
    assert result.attempts == 1 and result.worker_ids == [str(jobs.worker.id)] and result.errors == []


def test_while_it_runs_it_is_running(jobs, told):
    result = reusable.tell_attempt.enqueue("x")
    jobs.drain()
    assert done(result).return_value == [1, result.id, "RUNNING", ["x"], "x"]


def test_a_task_may_return_nothing(jobs):
    result = reusable.note.enqueue("hello")
    jobs.drain()
    assert done(result).return_value is None
    assert reusable.calls.pop() == "hello"


def test_a_coroutine_is_run(jobs):
    result = reusable.count_users.enqueue()
    jobs.drain()
    assert done(result).return_value == 0


def test_the_async_ways_are_the_same(jobs):
    @async_to_sync
    async def enqueue():
        return await reusable.add.aenqueue(20, two=3)

    result = enqueue()
    jobs.drain()

    @async_to_sync
    async def look():
        await result.arefresh()
        same = await reusable.add.aget_result(result.id)
        return result, same, await framework.default_task_backend.aget_result(result.id)

    first, second, third = look()
    assert first == second == third and first.return_value == 23


def test_calling_the_function_makes_no_job(jobs):
    assert reusable.add.call(1) == 2 and reusable.add.func(3, 4) == 7
    assert async_to_sync(reusable.add.acall)(1) == 2
    assert jobs.drain() == 0


# -- results that are not there ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["no-id", "", "018f0000-0000-7000-8000-000000000000"])
def test_a_result_that_nobody_made_does_not_exist(db, name):
    with pytest.raises(TaskResultDoesNotExist):
        framework.default_task_backend.get_result(name)


def test_a_job_that_is_no_task_has_no_result(jobs):
    made = jobs.submit("maintenance.purge_jobs")
    with pytest.raises(TaskResultDoesNotExist):
        framework.default_task_backend.get_result(str(made))


def test_a_result_belongs_to_its_backend_and_task(jobs):
    result = reusable.add.using(backend="other").enqueue(1)
    assert result.backend == "other" == task_backends["other"].get_result(result.id).task.backend
    with pytest.raises(TaskResultDoesNotExist):
        framework.default_task_backend.get_result(result.id)
    mismatch = import_module(f"{framework.__name__}.exceptions").TaskResultMismatch
    with pytest.raises(mismatch):
        reusable.fail.get_result(reusable.add.enqueue(1).id)


# -- errors --------------------------------------------------------------------------------------------


def test_a_task_that_raises_has_failed_and_says_how(jobs):
    result = reusable.fail.enqueue("out of ink")
    jobs.drain()
    [error] = done(result).errors
    assert result.status == TaskResultStatus.FAILED and result.attempts == 1
    assert error.exception_class is ValueError and error.exception_class_path == "builtins.ValueError"
    assert "out of ink" in error.traceback and "reusable.py" in error.traceback
    with pytest.raises(ValueError, match="failed"):
        _ = result.return_value


def test_an_exception_that_cannot_be_rebuilt_is_told_by_its_path(jobs):
    result = reusable.fail_oddly.enqueue()
    jobs.drain()
    [error] = done(result).errors
    assert error.exception_class is reusable.Odd and "1 and 2" in error.traceback


@pytest.mark.parametrize(("how", "kind"), [("exit", SystemExit), ("interrupt", KeyboardInterrupt)])
def test_a_task_that_leaves_has_failed_and_its_worker_goes_on(jobs, how, kind):
    left, other = reusable.leave.enqueue(how), reusable.add.enqueue(1)
    jobs.drain()
    [error] = done(left).errors
    assert error.exception_class is kind and error.traceback.endswith(f"{kind.__name__}: enough\n")
    assert done(other).return_value == 2


def test_a_traceback_tells_the_causes(jobs):
    result = reusable.fail_within.enqueue()
    jobs.drain()
    [error] = done(result).errors
    assert error.exception_class is ValueError and "KeyError: 'first'" in error.traceback
    assert error.traceback.endswith("second\n")


def test_the_framework_logs_each_step(jobs, caplog):
    logger = "django.tasks" if framework.__name__ == "django.tasks" else "django_tasks"
    with caplog.at_level("DEBUG", logger=logger):
        result = reusable.add.enqueue(1)
        jobs.drain()
    lines = [each.getMessage() for each in caplog.records if each.name == logger]
    assert len(lines) == 3 and all(result.id in line for line in lines)
    assert "enqueued" in lines[0] and "RUNNING" in lines[1] and "SUCCESSFUL" in lines[2]


def test_arguments_that_do_not_fit_fail_the_run(jobs):
    result = reusable.add.enqueue(no_such=1)
    jobs.drain()
    assert done(result).errors[0].exception_class is TypeError


def test_a_value_that_json_cannot_say_fails_the_run(jobs):
    result = reusable.answer_an_object.enqueue()
    jobs.drain()
    assert result.task.get_result(result.id).errors[0].exception_class is TypeError


# -- arguments -----------------------------------------------------------------------------------------


def test_arguments_and_values_come_back_as_json_says_them(jobs):
    result = reusable.echo.enqueue((1, 2), b"text", nested={"a": ("b",)}, yes=True, nothing=None)
    assert result.args == [[1, 2], "text"]
    jobs.drain()
    kwargs = {"nested": {"a": ["b"]}, "yes": True, "nothing": None}
    assert done(result).return_value == {"args": [[1, 2], "text"], "kwargs": kwargs}


@pytest.mark.parametrize("value", [object(), {1, 2}, datetime(2026, 1, 1), b"\xff"])
def test_what_json_cannot_say_is_not_enqueued(jobs, told, value):
    with pytest.raises((TypeError, ValueError)):
        reusable.echo.enqueue(value)
    with pytest.raises((TypeError, ValueError)):
        reusable.echo.enqueue(named=[value])
    assert told == [] and jobs.drain() == 0


# -- priority, time, queue, copies ---------------------------------------------------------------------


def test_the_more_urgent_one_goes_first(jobs):
    reusable.calls.clear()
    for priority in (0, -100, 100, 7, -1):
        reusable.note.using(priority=priority).enqueue(str(priority))
    jobs.add_worker(concurrency=1)
    jobs.drain()
    assert reusable.calls == ["100", "7", "0", "-1", "-100"]


def test_a_deferred_task_is_not_run_before_its_time(jobs):
    at = jobs.clock.now() + timedelta(minutes=10)
    result = reusable.add.using(run_after=at).enqueue(1)
    assert result.task.run_after == at
    jobs.drain()
    result.refresh()
    assert result.status == TaskResultStatus.READY and result.attempts == 0
    jobs.advance(600)
    jobs.drain()
    assert done(result).return_value == 2


def test_using_makes_a_changed_copy(jobs):
    changed = reusable.add.using(priority=5, queue_name="mail")
    assert (reusable.add.priority, reusable.add.queue_name) == (0, "default")
    assert (changed.priority, changed.queue_name, changed.func) == (5, "mail", reusable.add.func)
    result = changed.enqueue(1)
    stored = changed.get_result(result.id)
    assert (stored.task.priority, stored.task.queue_name) == (5, "mail")
    assert jobs.job(result.id).queue == "mail"


def test_a_task_can_be_named_after_its_function():
    assert reusable.add.name == "add"
    assert reusable.add.module_path == "tests.database.django_tasks.reusable.add"


# -- what is no task -----------------------------------------------------------------------------------


def test_only_functions_of_a_module_are_tasks():
    def inner() -> None: ...

    for function in (inner, lambda: None, print):
        with pytest.raises(InvalidTask):
            task(function)


@pytest.mark.parametrize("priority", [-101, 101, 1.5, "high", True])
def test_a_priority_is_a_whole_number_from_minus_100_to_100(priority):
    with pytest.raises(InvalidTask, match="priority"):
        task(priority=priority)(module_level)
    with pytest.raises(InvalidTask):
        reusable.add.using(priority=priority)


def test_a_time_has_a_zone():
    with pytest.raises(InvalidTask, match="aware"):
        reusable.add.using(run_after=datetime(2026, 1, 1))


def test_a_queue_is_one_of_the_backend():
    with pytest.raises(InvalidTask, match="unknown"):
        reusable.add.using(queue_name="unknown")
    assert reusable.add.using(queue_name="unknown", backend="other").queue_name == "unknown"
    with pytest.raises(InvalidTask, match="A-Z"):
        reusable.add.using(queue_name="no queue!", backend="other")


def test_a_task_that_takes_the_context_takes_it_first():
    with pytest.raises(InvalidTask, match="context"):
        task(takes_context=True)(takes_no_context)


def test_what_the_backend_can_do():
    backend = framework.default_task_backend
    assert backend.supports_defer and backend.supports_priority
    assert backend.supports_async_task and backend.supports_get_result
    assert isinstance(task_backends["other"], JobsBackend)
    assert backend == task_backends["default"] and (backend.alias, backend.options) == ("default", {})


# -- signals and transactions --------------------------------------------------------------------------


def test_each_step_of_a_task_is_told_once(jobs, told):
    result = reusable.add.enqueue(1)
    assert [name for name, _ in told] == ["task_enqueued by JobsBackend"]
    jobs.drain()
    assert [name.split()[0] for name, _ in told] == ["task_enqueued", "task_started", "task_finished"]
    assert [heard.id for _, heard in told] == [result.id] * 3
    statuses = [heard.status for _, heard in told]
    assert statuses == [TaskResultStatus.READY, TaskResultStatus.RUNNING, TaskResultStatus.SUCCESSFUL]
    assert told[-1][1].return_value == 2


def test_a_failure_is_told_too(jobs, told):
    reusable.fail.enqueue()
    jobs.drain()
    name, heard = told[-1]
    assert name == "task_finished by JobsBackend" and heard.status == TaskResultStatus.FAILED
    assert heard.errors[0].exception_class is ValueError


def test_a_receiver_that_raises_does_not_break_the_run(jobs):
    names = import_module("tasks.django_tasks.names")

    def raising(**_):
        raise RuntimeError("a receiver")

    names.task_started.connect(raising)
    names.task_finished.connect(raising)
    try:
        result = reusable.add.enqueue(1)
        jobs.drain()
    finally:
        names.task_started.disconnect(raising)
        names.task_finished.disconnect(raising)
    assert done(result).return_value == 2


def test_a_task_is_there_when_its_transaction_commits(jobs):
    with pytest.raises(RuntimeError), transaction.atomic():
        gone = reusable.add.enqueue(1)
        raise RuntimeError
    with pytest.raises(TaskResultDoesNotExist):
        framework.default_task_backend.get_result(gone.id)
    with transaction.atomic():
        kept = reusable.add.enqueue(1)
    assert jobs.drain() == 1
    assert done(kept).return_value == 2


def test_inline_it_runs_at_the_end_of_the_transaction(jobs_inline, told):
    with transaction.atomic():
        result = reusable.add.enqueue(1)
        assert [name.split()[0] for name, _ in told] == ["task_enqueued"]
    assert [name.split()[0] for name, _ in told] == ["task_enqueued", "task_started", "task_finished"]
    assert done(result).return_value == 2


def test_changed_settings_count(jobs):
    with override_settings(TASKS={"default": {**TASKS["default"], "QUEUES": ["night"]}}):
        assert reusable.add.using(queue_name="night").enqueue(1).task.queue_name == "night"
        with pytest.raises(InvalidTask):
            reusable.add.enqueue(1)
