"""Celery tasks that a project has run as jobs, without a change to them."""

from uuid import UUID

import pytest
from celery import chain, chord, current_app, group, shared_task

from jobsplatform import celery_task
from jobsplatform.kernel.errors import ConfigError, DuplicateHandler, ParamsInvalid
from tasks import registry
from tasks.celery_request import BoundRequest
from tasks.states import Priority, State
from tests.database.celery_tasks import existing

HOME = "tests.database.celery_tasks.existing"


@pytest.fixture(autouse=True)
def _fresh():
    existing.called.clear()
    with registry.preserved():
        yield


def run(jobs, handler, **params):
    """The job, after its first run."""
    job_id = jobs.submit(handler, params)
    jobs.drain()
    return jobs.job(job_id)


# -- declaring -----------------------------------------------------------------------------------------


def test_a_task_is_declared_by_its_name_or_itself(jobs):
    by_name = celery_task(f"{HOME}.send")
    assert by_name.spec.key == f":{HOME}.send" and by_name.spec.description == "Send a letter. Really."
    assert "existing.py" in by_name.place and by_name.name in repr(by_name)
    other = celery_task(existing.send, job_type="letters.send", app_id="post")
    assert other.spec.key == "post:letters.send"
    with pytest.raises(DuplicateHandler, match="declared twice"):
        celery_task(existing.send)


def test_what_the_task_says_of_itself_is_the_default(jobs):
    spec = celery_task("letters.archive").spec
    assert (spec.timeout, spec.soft_timeout, spec.queue, spec.max_attempts) == (60, 50, "default", 8)
    own = celery_task("letters.archive", job_type="mine", queue="slow", timeout=90, max_attempts=1).spec
    assert (own.timeout, own.soft_timeout, own.queue, own.max_attempts) == (90, 50, "slow", 1)
    assert celery_task(existing.auto).spec.max_attempts == 5, "its retry_kwargs count"
    plain = celery_task(existing.send).spec
    assert (plain.timeout, plain.queue, plain.priority, plain.max_attempts) == (None, "default", 100, 4)


def test_limits_routes_and_priorities_of_the_app_count(jobs, monkeypatch):
    conf = current_app.conf
    monkeypatch.setitem(conf, "task_time_limit", 30)
    monkeypatch.setitem(conf, "task_soft_time_limit", 40)
    monkeypatch.setitem(conf, "task_routes", {f"{HOME}.send": {"queue": "routed", "priority": 5}})
    monkeypatch.setitem(conf, "task_default_priority", 9)
    monkeypatch.setitem(conf, "broker_url", "amqp://localhost")
    monkeypatch.delitem(current_app.amqp.__dict__, "router", raising=False)
    spec = celery_task(existing.send).spec
    assert (spec.timeout, spec.soft_timeout, spec.queue, spec.priority) == (30, None, "routed", 100)
    monkeypatch.setitem(conf, "broker_url", "redis://localhost")
    assert celery_task(existing.auto).spec.priority == 0, "Redis takes 0 for the most urgent"
    current_app.amqp.__dict__.pop("router", None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (f"{HOME}.sned", "Did you mean 'tests.database.celery_tasks.existing.send'"),
        ("no.such.module", "there is no Celery task 'no.such.module'"),
        ("nonsense", "there is no Celery task 'nonsense'"),
        ("celery.chord", "no work of its own"),
        ("core.tasks.run", "no work of its own"),
        (7, "expected a Celery task or its name"),
        (chain(existing.send.si("a"), existing.send.si("b")), "a chain cannot run as one job"),
        (group([existing.send.si("a"), existing.send.si("b")]), "a group cannot run as one job"),
        (chord([existing.send.si("a")], existing.send.si("b")), "cannot run as one job"),
        (existing.send.s("a"), "give the task, not a signature"),
    ],
)
def test_what_is_no_task_is_refused_with_a_reason(given, message):
    with pytest.raises(ConfigError, match=message):
        celery_task(given)


def test_wrong_options_are_refused():
    with pytest.raises(ConfigError, match="Did you mean 'timeout'"):
        celery_task(existing.send, timeot=3)


# -- params --------------------------------------------------------------------------------------------


def test_the_arguments_are_the_params(jobs):
    send = celery_task(existing.send)
    assert run(jobs, send, to="a").result == {"to": "a", "subject": "hello", "urgent": False}
    assert run(jobs, send, to=3, urgent=1).result == {"to": 3, "subject": "hello", "urgent": 1}
    with pytest.raises(ParamsInvalid, match="'to' is missing.*Did you mean 'subject'"):
        send.enqueue(subjct="x")
    schema = send.schema.json_schema()
    assert schema["required"] == ["to"] and schema["properties"]["subject"]["default"] == "hello"


def test_positional_ones_are_given_as_args(jobs):
    archive = celery_task("letters.archive")
    assert run(jobs, archive, args=[1, 2], shelf="top").result == [[1, 2], {"shelf": "top"}]
    assert run(jobs, archive).result == [[], {}]
    mixed = celery_task(existing.mixed)
    assert run(jobs, mixed, first=1, second=5, args=[7]).result == [1, 5, 7]
    assert run(jobs, mixed, first=1).result == [1, 2]


def test_values_by_position_get_their_names(jobs):
    assert celery_task(existing.send).schema.by_position(["a", "b"]) == {"to": "a", "subject": "b"}
    with pytest.raises(ParamsInvalid, match="4 values are given by position, and there are 3 params"):
        celery_task(existing.send, job_type="again").schema.by_position([1, 2, 3, 4])
    mixed = celery_task(existing.mixed)
    assert mixed.schema.by_position([1]) == {"first": 1}
    given = mixed.schema.by_position([1, 2, 3, 4])
    assert given == {"first": 1, "second": 2, "args": [3, 4]}
    assert run(jobs, mixed, **given).result == [1, 2, 3, 4]


def test_a_default_that_json_cannot_say_is_left_to_the_function(jobs):
    odd = celery_task(existing.with_odd_default)
    assert odd.schema.json_schema()["properties"]["until"] == {}
    assert run(jobs, odd).result == "01 2"
    assert run(jobs, odd, until="later").result == "01 later"


# -- the request ---------------------------------------------------------------------------------------


def test_the_request_is_that_of_the_job(jobs):
    tell = celery_task(existing.tell)
    job = run(jobs, tell, first=[1], second={"a": None})
    assert job.result == {
        "id": str(job.id),
        "retries": 0,
        "args": [],
        "kwargs": {"first": [1], "second": {"a": None}},
        "directly": False,
        "name": existing.tell.name,
    }
    assert existing.tell.request_stack.top is None, "nothing of it is left behind"


def test_the_plain_way_stays_as_it_was(jobs):
    run(jobs, celery_task(existing.count), most=2)
    assert existing.send("a")["to"] == "a"
    told = existing.tell.apply(args=("x",)).get()
    assert list(told["args"]) == ["x"] and told["retries"] == 0
    assert not isinstance(existing.count.request, BoundRequest)
    assert existing.count.apply(args=(2,)).get() == 2


def test_update_state_is_the_progress_of_the_job(jobs):
    job = run(jobs, celery_task(existing.count), most=3)
    assert (job.progress_done, job.progress_total, job.progress_label) == (3, 3, "number 3")


# -- retries -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "seconds"), [("countdown", 7), ("eta", 300), ("naive", 60), ("returned", 9), ("default", 30)]
)
def test_a_retry_is_the_jobs_own(jobs, how, seconds):
    job = run(jobs, celery_task(existing.stubborn), how=how)
    assert (job.state, job.failures) == (State.PENDING, 1)
    assert (job.due_at - jobs.clock.now()).total_seconds() == seconds
    attempt = job.attempts.get()
    assert attempt.outcome == "retry" and f"{how} 0" in attempt.error


def test_the_last_retry_fails_with_what_the_task_raised(jobs):
    job_id = jobs.submit(celery_task(existing.stubborn), {"how": "default"})
    for _ in range(3):
        jobs.drain()
        jobs.advance(31)
    job = jobs.job(job_id)
    assert (job.state, job.failures, job.error_type) == (State.FAILED, 3, "ConnectionError")
    assert job.error == "default 2", "its retries were counted on"


def test_a_task_may_say_how_often(jobs):
    job = run(jobs, celery_task(existing.stubborn), how="never")
    assert (job.state, job.error) == (State.FAILED, "never 0")
    nameless = celery_task(existing.stubborn, job_type="again")
    job_id = jobs.submit(nameless, {"how": "unnamed"})
    for _ in range(3):
        jobs.drain()
        jobs.advance(31)
    assert jobs.job(job_id).state == State.FAILED


def test_a_retry_with_other_arguments_is_refused(jobs):
    job = run(jobs, celery_task(existing.stubborn), how="other arguments")
    assert job.state == State.FAILED and "params of a job never change" in job.error


def test_autoretry_works(jobs):
    auto = celery_task(existing.auto)
    job = run(jobs, auto, word="later")
    assert (job.state, (job.due_at - jobs.clock.now()).total_seconds()) == (State.PENDING, 3)
    job = run(jobs, auto, word="value")
    assert (job.state, job.error_type) == (State.FAILED, "ValueError")


# -- other ends ----------------------------------------------------------------------------------------


def test_what_raises_without_asking_for_a_retry_has_failed(jobs):
    job = run(jobs, celery_task(existing.hooked), what="fail")
    assert (job.state, job.failures, job.error_type, job.error) == (State.FAILED, 1, "ValueError", "fail")


@pytest.mark.parametrize(
    ("how", "state", "words"),
    [
        ("ignore", State.CANCELLED, "not needed"),
        ("reject", State.CANCELLED, "not mine"),
        ("requeue", State.PENDING, "not mine"),
    ],
)
def test_ignore_and_reject_end_the_job(jobs, how, state, words):
    job = run(jobs, celery_task(existing.leave), how=how)
    assert job.state == state and words in job.attempts.get().reason


def test_a_task_cannot_become_a_group(jobs):
    job = run(jobs, celery_task(existing.replace_itself))
    assert job.state == State.FAILED and "cannot be replaced by a chain, a group or a chord" in job.error


def test_a_result_that_json_cannot_say_fails_the_job(jobs):
    job = run(jobs, celery_task(existing.answer_an_object))
    assert (job.state, job.error_type) == (State.FAILED, "ResultInvalid")


def test_the_hooks_of_its_class_are_called(jobs):
    hooked = celery_task(existing.hooked)
    job = run(jobs, hooked, what="fine")
    assert existing.called == [
        ("before_start", str(job.id), [], {"what": "fine"}),
        ("on_success", "fine"),
        ("after_return", "SUCCESS"),
    ]
    existing.called.clear()
    run(jobs, hooked, what="fail")
    assert existing.called[1:] == [("on_failure", "ValueError", True), ("after_return", "FAILURE")]
    existing.called.clear()
    run(jobs, hooked, what="retry")
    assert existing.called[1:] == [("on_retry", "KeyError"), ("after_return", "RETRY")]


def test_a_hook_that_raises_changes_nothing(jobs, monkeypatch):
    def broken(self, *facts):
        raise RuntimeError("a hook")

    monkeypatch.setattr(existing.Hooked, "on_success", broken)
    assert run(jobs, celery_task(existing.hooked), what="fine").result == "fine"


def test_it_is_scheduled_like_any_job(jobs):
    from scheduler.definition import ScheduleSpec, check

    handler = celery_task(existing.send)
    spec = dict(id="letters", cron="0 8 * * *", misfire="skip")
    assert check(ScheduleSpec(job=handler.spec.job_type, params={"to": "a"}, **spec)) == []
    faults = check(ScheduleSpec(job=handler.spec.job_type, params={"too": "a"}, **spec))
    assert faults and "Did you mean 'to'" in " ".join(map(str, faults))


def test_using_gives_options_to_its_jobs(jobs):
    made = celery_task(existing.send).using(priority=Priority.USER_ACTION, queue="mail").enqueue(to="a")
    job = jobs.job(UUID(str(made.id)))
    assert (job.priority, job.queue) == (Priority.USER_ACTION, "mail")


def test_inline_it_runs_too(jobs_inline):
    from jobsplatform import get_job

    assert get_job(celery_task(existing.send).enqueue(to="a").id).result["to"] == "a"


def test_a_stand_in_of_a_shared_task_is_the_task(jobs):
    @shared_task(name="tests.late.shared")
    def late() -> int:
        return 5

    assert run(jobs, celery_task(late)).result == 5
