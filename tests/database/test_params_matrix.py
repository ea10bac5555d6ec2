"""What jobs may be given and may answer: one table, the same outcomes on both databases, through every door.

Run it on SQLite and with ``--postgres``: nothing in the expected outcomes depends on the database.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.db import connections, transaction

from jobsplatform.kernel.errors import InvalidInput, ParamsInvalid, ParamsTooLarge
from jobsplatform.testing.platform import HandPlatform
from tasks import finish, submit
from tasks.context import Child, JobContext
from tasks.handlers import FunctionHandler, job
from tasks.models import IdempotencyKey, Job
from tasks.outcomes import Deferred, Ending, Outcome
from tasks.output import job_output
from tasks.requests import JobRequest
from tasks.states import State


def nested(levels: int) -> Any:
    value: Any = "deep"
    for _ in range(levels):
        value = [value]
    return value


NAN, INFINITY = float("nan"), float("inf")

# (name, value, as it is read back)
KEPT: list[tuple[str, Any, Any]] = [
    ("none", None, None),
    ("true", True, True),
    ("zero", 0, 0),
    ("negative zero", -0.0, 0.0),
    ("fraction", 0.1, 0.1),
    ("whole float", 1.0, 1.0),
    ("the largest int", 2**63 - 1, 2**63 - 1),
    ("the smallest int", -(2**63), -(2**63)),
    ("a float past 64 bits", 1e300, 1e300),
    ("the largest float", -1.7976931348623157e308, -1.7976931348623157e308),
    ("the smallest float", 5e-324, 5e-324),
    ("2^63 as a float", 2.0**63, 2.0**63),
    ("empty text", "", ""),
    ("text of any script", "Überprüfung 夜間 🚀 نسخ \u2028 \ufeff", "Überprüfung 夜間 🚀 نسخ \u2028 \ufeff"),
    ("quotes and percent", "it's 100% \"fine\" \\ %s {x}", "it's 100% \"fine\" \\ %s {x}"),
    ("control characters but NUL", "a\x01\x1b[31m\tb\n", "a\x01\x1b[31m\tb\n"),
    ("text that looks like JSON", '{"a": NaN}', '{"a": NaN}'),
    ("tuples", (1, ("a",)), [1, ["a"]]),
    ("keys alike", {"a": 1, "A": 2, "a ": 3, "é": 4, "e\u0301": 5, "": 6, "1": 7},
     {"a": 1, "A": 2, "a ": 3, "é": 4, "e\u0301": 5, "": 6, "1": 7}),
    ("odd keys", {"__class__": 1, "$": 2, "a.b": 3, "%s": 4}, {"__class__": 1, "$": 2, "a.b": 3, "%s": 4}),
    ("90 levels", nested(90), nested(90)),
    ("200 kB of text", "x" * 200_000, "x" * 200_000),
]  # fmt: skip

# (name, value, words of the refusal)
REFUSED: list[tuple[str, Any, str]] = [
    ("nan", NAN, "NaN"),
    ("infinity", INFINITY, "Infinity"),
    ("minus infinity inside", {"a": 1.5, "c": [0, -INFINITY]}, "-Infinity"),
    ("nul", "ab\x00cd", "NUL"),
    ("nul in a key", {"a\x00": 1}, "NUL"),
    ("lone surrogate", "a\ud800", "surrogate"),
    ("lone surrogate in a key", {"\udfff": 1}, "surrogate"),
    ("10^400", 10**400, "2^63"),
    ("2^63", 2**63, "2^63"),
    ("below -2^63", -(2**63) - 1, "2^63"),
    ("datetime", datetime(2026, 1, 1, tzinfo=UTC), "isoformat"),
    ("naive datetime", datetime(2026, 1, 1), "isoformat"),
    ("date", date(2026, 1, 1), "isoformat"),
    ("timedelta", timedelta(1), "text"),
    ("decimal", Decimal("0.10"), "str(value)"),
    ("uuid", UUID(int=1), "str(value)"),
    ("bytes", b"x", "base64"),
    ("bytearray", bytearray(b"x"), "base64"),
    ("set", {1}, "list"),
    ("frozenset", frozenset({1}), "list"),
    ("complex", 1j, "JSON"),
    ("an exception", ValueError("x"), "JSON"),
    ("a function", nested, "JSON"),
    ("a class", dict, "JSON"),
    ("int keys", {1: "a", "1": "b"}, "keys must be text"),
    ("a none key", {None: "c"}, "keys must be text"),
    ("tuple keys", {(1, 2): "d"}, "keys must be text"),
    ("bool keys", {True: 1}, "keys must be text"),
    ("float keys", {1.5: 1}, "keys must be text"),
    ("200 levels", nested(200), "nested deeper"),
    ("100,000 levels", nested(100_000), "nested deeper"),
    ("1 MB", "x" * 1_048_577, "bytes"),
    ("1 MB of many parts", ["é" * 50] * 11_000, "bytes"),
    ("20 MB", "x" * 20_000_000, "bytes"),
]
KEPT_IDS, REFUSED_IDS = [row[0] for row in KEPT], [row[0] for row in REFUSED]


def types_of(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: types_of(item) for key, item in value.items()}
    return [types_of(item) for item in value] if isinstance(value, list) else type(value)


def same(back: Any, wanted: Any) -> bool:
    return bool(back == wanted) and types_of(back) == types_of(wanted)


@pytest.fixture
def echo(jobs: HandPlatform) -> FunctionHandler:
    @job("matrix.echo", max_attempts=3)
    def echo(value):  # type: ignore[no-untyped-def]
        return value

    return echo


@pytest.fixture
def answers(jobs: HandPlatform) -> Iterator[Callable[[Callable[[JobContext], Any]], Job]]:
    """Run a job that does what it is told, in Python; the row after it."""
    tasks: list[Callable[[JobContext], Any]] = []

    @job("matrix.answers", max_attempts=3)
    def handler(context: JobContext) -> Any:
        return tasks[-1](context)

    def run(what: Callable[[JobContext], Any]) -> Job:
        tasks.append(what)
        job_id = jobs.submit(handler)
        jobs.worker.work(1)
        return jobs.job(job_id)

    yield run


# -- params ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "value", "back"), KEPT, ids=KEPT_IDS)
def test_params_that_are_kept(
    jobs: HandPlatform, echo: FunctionHandler, name: str, value: Any, back: Any
) -> None:
    job_id = jobs.submit(echo, {"value": value})
    assert same(jobs.job(job_id).params, {"value": back})
    jobs.drain()
    done = jobs.job(job_id)
    assert done.state == State.COMPLETED, done.error
    assert same(done.result, back), (
        "the handler saw it as it is read back, and so does whoever reads the result"
    )
    json.dumps(job_output(done), allow_nan=False).encode()


DOORS: dict[str, Callable[[FunctionHandler, dict[str, Any]], Any]] = {
    "submit": lambda handler, params: submit.submit(JobRequest("matrix.echo", params)),
    "submit_many": lambda handler, params: submit.submit_many(
        [JobRequest("matrix.echo", {"value": 1}), JobRequest("matrix.echo", params)]
    ),
    "keyed": lambda handler, params: submit.enqueue(
        "matrix.echo", params, dedupe_key="k", idempotency_key="i", concurrency_key="c"
    ),
    "later": lambda handler, params: submit.enqueue(
        "matrix.echo", params, run_after=datetime(2030, 1, 1, tzinfo=UTC)
    ),
    "enqueue": lambda handler, params: handler.enqueue(**params),
    "enqueue_many": lambda handler, params: handler.enqueue_many([{"value": 1}, params]),
}


@pytest.mark.parametrize(("name", "value", "words"), REFUSED, ids=REFUSED_IDS)
def test_params_that_are_refused_at_every_door(
    jobs: HandPlatform, echo: FunctionHandler, name: str, value: Any, words: str
) -> None:
    for door in DOORS:
        with pytest.raises((ParamsInvalid, ParamsTooLarge)) as caught, transaction.atomic():
            DOORS[door](echo, {"value": value})
        assert words in caught.value.message, door
        assert caught.value.http_status in (400, 413)
        assert len(caught.value.message) < 500
        assert "\n" not in caught.value.message
    assert not Job.objects.exists()
    assert not IdempotencyKey.objects.exists()
    # The caller's transaction goes on, and so does the next job.
    assert jobs.submit(echo, {"value": 1})


@pytest.mark.django_db(transaction=True)
def test_async_callers_get_the_same_answers(jobs: HandPlatform, echo: FunctionHandler) -> None:
    async def enqueue(value: Any) -> Any:
        try:
            return await echo.aenqueue(value=value)
        finally:
            await sync_to_async(connections.close_all)()

    for _name, value, words in (REFUSED[0], REFUSED[3], REFUSED[-1]):
        with pytest.raises(InvalidInput) as caught:
            asyncio.run(enqueue(value))
        assert words in caught.value.message
    assert not Job.objects.exists()
    assert jobs.job(asyncio.run(enqueue(1e300)).id).params == {"value": 1e300}


@pytest.mark.parametrize(("name", "value", "words"), REFUSED[::4], ids=REFUSED_IDS[::4])
def test_a_child_with_such_params_is_not_made_and_its_parent_is_told(
    jobs: HandPlatform, echo: FunctionHandler, answers: Any, name: str, value: Any, words: str
) -> None:
    seen: list[str] = []

    def spawns(context: JobContext) -> str:
        good = Child(echo, {"value": 1}, "good")
        try:
            context.spawn([good, Child(echo, {"value": value}, "bad")])
        except InvalidInput as error:
            seen.append(error.message)
        return "went on"

    done = answers(spawns)
    assert (done.state, done.result) == (State.COMPLETED, "went on")
    assert words in seen[0]
    assert not Job.objects.filter(job_type="matrix.echo").exists(), "all or none"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "'n' is missing"),
        ({"n": "1"}, "'n'"),
        ({"n": 1.0}, "'n'"),
        ({"n": True}, "'n'"),
        ({"n": None}, "'n'"),
        ({"n": 1, "nn": 2}, "unknown param 'nn'"),
        ({"n": 1, "text": b"x"}, "'text'"),
        ({"n": 1, "text": 5}, "'text'"),
        ({"n": 1, "flag": 1}, "'flag'"),
        ({"n": 1, "flag": "yes"}, "'flag'"),
        ({"n": 1, "price": NAN}, "'price'"),
        ({"n": 1, "": 1}, "unknown param ''"),
        ({"n": 1, 5: 1}, "keys must be text"),
        ({"n": 1, "N": 1}, "unknown param 'N'"),
        ([], "expected an object"),
        (None, "expected an object"),
        ("n=1", "expected an object"),
    ],
)
def test_params_that_do_not_fit_the_handler(jobs: HandPlatform, params: Any, words: str) -> None:
    @job("matrix.typed")
    def typed(n: int, text: str = "", flag: bool = False, price: float = 0.0) -> None: ...

    with pytest.raises(ParamsInvalid) as caught:
        submit.submit(JobRequest("matrix.typed", params))
    assert words.lower() in caught.value.message.lower()
    assert not Job.objects.exists()


def test_typed_values_come_back_as_they_were_given(jobs: HandPlatform) -> None:
    seen: list[Any] = []

    @job("matrix.values")
    def values(at: datetime, day: date, price: Decimal, who: UUID, raw: bytes, some: set[int]) -> None:
        seen.append((at, day, price, who, raw, some))

    zone = timezone(timedelta(hours=5, minutes=45))
    given = (
        datetime(2026, 3, 29, 2, 30, tzinfo=zone),
        date(2026, 1, 1),
        Decimal("0.10"),
        UUID(int=7),
        b"ab",
        {3, 1},
    )
    jobs.submit(values, dict(zip(("at", "day", "price", "who", "raw", "some"), given, strict=True)))
    jobs.drain()
    assert seen == [given]
    assert str(seen[0][2]) == "0.10", "money keeps its digits"


def test_a_param_named_like_the_handlers_context_is_refused_not_mixed_up(jobs: HandPlatform) -> None:
    @job("matrix.open")
    def takes_all(context, **others):  # type: ignore[no-untyped-def]
        return sorted(others)

    with pytest.raises(ParamsInvalid, match="'context' is what the handler calls its context"):
        jobs.submit(takes_all, {"context": 1})
    job_id = jobs.submit(takes_all, {"": 1, "self": 2, "ctx": 3, "job": 4})
    jobs.drain()
    assert jobs.job(job_id).result == ["", "ctx", "job", "self"]


# -- what a run gives back ---------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "value", "back"), KEPT, ids=KEPT_IDS)
def test_answers_that_are_kept(answers: Any, name: str, value: Any, back: Any) -> None:
    def tells(context: JobContext) -> Any:
        context.checkpoint(value)
        assert context.merge(value=value) == {"value": back} or back != back
        return Outcome(value, extra={"value": value})

    done = answers(tells)
    assert done.state == State.COMPLETED, done.error
    assert same(done.result, back)
    assert same(done.checkpoint, back)
    assert same(done.data, {"value": back})


@pytest.mark.parametrize(("name", "value", "words"), REFUSED, ids=REFUSED_IDS)
def test_answers_that_cannot_be_kept(
    jobs: HandPlatform, answers: Any, name: str, value: Any, words: str
) -> None:
    refusals: list[str] = []

    def tries(context: JobContext) -> Any:
        context.checkpoint("before")
        context.merge(kept=1)
        for attempt in (lambda: context.checkpoint(value), lambda: context.merge(value=value)):
            try:
                attempt()
            except InvalidInput as error:
                refusals.append(error.message)
        return [value]

    done = answers(tries)
    # A checkpoint or data: the handler is told, and what was saved before stays.
    assert len(refusals) == 2 and all(words in refusal for refusal in refusals)
    assert (done.checkpoint, done.data) == ("before", {"kept": 1})
    # The result: the job ends, without another try, which would answer the same.
    assert (done.state, done.error_type, done.result) == (State.FAILED, "ResultInvalid", None)
    assert words in done.error
    assert (done.attempt, done.attempts.count(), done.worker_id) == (1, 1, None)
    assert jobs.drain() == 0, "nothing is left to run"


@pytest.mark.parametrize(("name", "value", "words"), REFUSED[::4], ids=REFUSED_IDS[::4])
def test_an_end_from_outside_is_held_to_the_same_rules(
    jobs: HandPlatform, answers: Any, name: str, value: Any, words: str
) -> None:
    waiting = answers(lambda context: Deferred(60))
    assert waiting.state == State.WAITING
    with pytest.raises(InvalidInput) as caught:
        finish.from_outside(waiting.id, waiting.lease, Ending("completed", result=value), jobs.clock.now())
    assert words in caught.value.message
    assert jobs.state(waiting.id) == State.WAITING, "whoever finishes it may correct the result"
    right = Ending("completed", result=1e300)
    assert finish.from_outside(waiting.id, waiting.lease, right, jobs.clock.now()) is not None
    assert (jobs.job(waiting.id).state, jobs.job(waiting.id).result) == (State.COMPLETED, 1e300)


def test_data_may_not_grow_past_the_limit_by_many_pieces(answers: Any) -> None:
    def grows(context: JobContext) -> None:
        for n in range(12):
            context.merge(**{f"piece_{n}": "x" * 100_000})

    done = answers(grows)
    assert "data: " in done.error and "bytes" in done.error
    assert len(json.dumps(done.data)) < 1_048_576


def test_the_text_of_an_end_from_outside_is_cleaned(jobs: HandPlatform, answers: Any) -> None:
    waiting = answers(lambda context: Deferred(60))
    ending = Ending("failed", error="a\x00b\ud800" + "x" * 50_000, error_type="E\x00" * 300, retryable=False)
    finish.from_outside(waiting.id, waiting.lease, ending, jobs.clock.now())
    done = jobs.job(waiting.id)
    assert done.state == State.FAILED
    assert done.error.startswith("a\ufffdb\ufffdx") and len(done.error) <= 10_000
    assert len(done.error_type) <= 200
