"""Who may declare what, and how a process finds it."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from jobsplatform.kernel.errors import ConfigError, DuplicateHandler, ParamsInvalid, UnknownName
from tasks import registry
from tasks.handlers import FunctionHandler, job
from tasks.retry import Fixed, Table
from tasks.spec import key_of
from tasks.states import Dedupe, Priority


@pytest.fixture(autouse=True)
def own_registry() -> Iterator[None]:
    with registry.preserved():
        yield


def declared(job_type: str = "tests.one", **options: Any) -> FunctionHandler[..., Any]:
    def handler(user_id: int = 0, name: str = "") -> None:
        """Do one thing.

        At length.
        """

    return job(job_type, **options)(handler)


def test_a_declared_handler_is_found_by_app_and_type() -> None:
    host, video = declared("scrape"), declared("scrape", app_id="video")
    assert registry.find("", "scrape") is host
    assert registry.get("video", "scrape") is video
    assert registry.by_key("video:scrape") is video
    assert {":scrape", "video:scrape"} <= registry.keys()
    assert registry.all() == [registry.by_key(key) for key in sorted(registry.keys())]
    assert registry.find("video", "other") is None


def test_an_unknown_type_names_the_nearest() -> None:
    declared("tests.harvest")
    with pytest.raises(
        UnknownName, match=r"Unknown job type 'tests.havrest'. Did you mean 'tests.harvest'\?"
    ):
        registry.get("", "tests.havrest")
    declared("scrape", app_id="video")
    with pytest.raises(UnknownName, match=r"'video:scrap'. Did you mean 'video:scrape'\?"):
        registry.get("video", "scrap")


def test_a_duplicate_names_both_places() -> None:
    first = declared()

    def other() -> None: ...

    with pytest.raises(DuplicateHandler) as caught:
        job("tests.one")(other)
    line = other.__code__.co_firstlineno
    assert first.place in caught.value.message
    assert f"{__file__}:{line}" in caught.value.message
    assert registry.find("", "tests.one") is first


def test_replace_and_unregister_give_back_what_was_there() -> None:
    first = declared()
    second = FunctionHandler(first.function, first.spec)
    assert registry.replace(second) is first
    assert registry.find("", "tests.one") is second
    assert registry.unregister(":tests.one") is second
    assert registry.unregister(":tests.one") is None
    assert registry.find("", "tests.one") is None


def test_lookups_see_a_whole_table_while_others_change_it() -> None:
    fixed = declared("tests.fixed")
    wrong: list[object] = []
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            if registry.find("", "tests.fixed") is not fixed or len(registry.keys()) < 1:
                wrong.append("gone")

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for n in range(200):
            declared(f"tests.n{n}")
            registry.unregister(f":tests.n{n}")
    finally:
        stop.set()
        reader.join()
    assert wrong == []


@pytest.mark.parametrize(
    "name",
    [
        "Überprüfung nachts",
        "夜間バックアップ",
        "🚀 nightly",
        "نسخة احتياطية",
        'a "quote" and 100 %',
        "x" * 200,
    ],
)
def test_names_in_any_script_are_fine(name: str) -> None:
    assert registry.find("", name) is None
    assert registry.get("", declared(name).spec.job_type).spec.key == ":" + name


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"job_type": ""}, "expected a name"),
        ({"job_type": "x" * 201}, "201 characters, at most 200"),
        ({"job_type": "a\0b"}, "control characters"),
        ({"job_type": "a\nb"}, "control characters"),
        ({"job_type": " a"}, "spaces at an end"),
        ({"job_type": "a\ud800"}, "control characters"),
        ({"job_type": 7}, "expected text"),
        ({"app_id": "a:b"}, "colon"),
        ({"app_id": "x" * 101}, "at most 100"),
        ({"queue": "two words"}, "queue"),
        ({"queue": ""}, "queue"),
        ({"priority": -1}, "from 0 to 9999"),
        ({"priority": 10_000}, "from 0 to 9999"),
        ({"priority": True}, "priority"),
        ({"priority": "high"}, "priority"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"max_attempts": 1.5}, "max_attempts"),
        ({"soft_timeout": 60, "timeout": 60}, r"soft_timeout \(60 s\) must be below timeout \(60 s\)"),
        ({"soft_timeout": 90, "timeout": 60}, "must be below"),
        ({"timeout": 0}, "timeout: expected seconds above 0"),
        ({"timeout": -1}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"soft_timeout": "60"}, "soft_timeout"),
        ({"cancel_grace": timedelta(0)}, "cancel_grace"),
        ({"retention": -5}, "retention"),
        ({"crash_budget": 0}, "crash_budget"),
        ({"exclusive": True, "max_concurrency": 2}, "Leave one out"),
        ({"max_concurrency": 0}, "max_concurrency"),
        ({"concurrency_limit": 3}, "concurrency_key, which is not given"),
        ({"concurrency_key": "u:{user_id}", "concurrency_limit": 0}, "concurrency_limit"),
        ({"dedupe_key": "u:{usr_id}"}, "names the param 'usr_id'. Did you mean 'user_id'"),
        ({"concurrency_key": "u:{usr_id}"}, "Did you mean 'user_id'"),
        ({"dedupe_key": "u:{user_id.__class__}"}, "bare name"),
        ({"dedupe_key": "u:{user_id!r}"}, "bare name"),
        ({"dedupe_key": "u:{0}"}, "bare name"),
        ({"dedupe_key": "u:{"}, "no template"),
        ({"dedupe_key": 7}, "expected text such as"),
        ({"dedupe": "aliass"}, "Did you mean 'alias'"),
        ({"on_interrupt": "stop"}, "expected one of resume, cancel"),
        ({"backoff": -1}, "expected 0 to"),
        ({"backoff": "fast"}, "backoff: expected"),
        ({"public_params": "user_id"}, "expected a list of names"),
    ],
)
def test_a_declaration_that_cannot_be_meant_is_refused(options: dict[str, Any], words: str) -> None:
    job_type = options.pop("job_type", "tests.one")
    with pytest.raises(ConfigError, match=words) as caught:
        declared(job_type, **options)
    assert caught.value.message.startswith("@job(")
    assert registry.find("", str(job_type)) is None


def test_what_is_declared_is_what_the_spec_says() -> None:
    spec = declared(
        app_id="video",
        queue="slow",
        priority=Priority.USER_ACTION,
        max_attempts=5,
        backoff=[1, 60],
        timeout=timedelta(minutes=1),
        soft_timeout=50,
        retention=timedelta(days=2),
        dedupe="keep_latest",
        public_params=["name"],
    ).spec
    assert spec.key == "video:tests.one"
    assert (spec.queue, spec.priority, spec.max_attempts) == ("slow", 1000, 5)
    assert (spec.timeout, spec.soft_timeout, spec.retention) == (60.0, 50.0, timedelta(days=2))
    assert (spec.backoff, spec.dedupe, spec.public_params) == (Table((1, 60)), Dedupe.KEEP_LATEST, ("name",))
    assert spec.description == "Do one thing."
    assert declared("tests.two", backoff=30).spec.backoff == Fixed(30)
    assert declared("tests.three", description="My own.").spec.description == "My own."


def test_keys_are_made_of_stored_params() -> None:
    spec = declared(dedupe_key="user:{user_id}:{name}", concurrency_key=lambda p: p["name"] or None).spec
    assert spec.dedupe_key_of({"user_id": 7, "name": "夜"}) == "user:7:夜"
    assert spec.concurrency_key_of({"user_id": 7, "name": "ada"}) == "ada"
    assert spec.concurrency_key_of({"user_id": 7, "name": ""}) == ""
    assert declared("tests.none").spec.dedupe_key_of({}) == ""
    assert key_of("{{{x}}}", {"x": {"b": 1, "a": True}}, "key") == '{{"a": true, "b": 1}}'


@pytest.mark.parametrize("rule", [lambda p: "x" * 256, lambda p: 7, lambda p: "a\0", "{name}"])
def test_a_key_that_cannot_be_stored_is_told(rule: Any) -> None:
    with pytest.raises(ParamsInvalid, match="dedupe_key"):
        key_of(rule, {"name": "n" * 256}, "dedupe_key")


def test_a_handler_stays_a_function() -> None:
    handler = declared()
    assert handler(user_id=1) is None
    assert handler.__name__ == "handler"
    assert handler.__doc__ is not None and handler.__doc__.startswith("Do one thing.")
    assert "tests.one" in repr(handler)


def yielding() -> Any:
    yield 1


async def async_yielding() -> Any:
    yield 1


class Callable:
    def __call__(self) -> None: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [(yielding, "yields"), (async_yielding, "yields"), (Callable(), "must be a function")],
)
def test_what_cannot_be_run_to_an_answer_is_no_handler(function: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        job("tests.one")(function)
