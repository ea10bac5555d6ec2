"""What ``manage.py check`` says of handlers; made without the decorator, which refuses most of it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jobsplatform.kernel import config
from tasks import registry
from tasks.checks import handler_checks
from tasks.handlers import FunctionHandler
from tasks.spec import JobSpec
from tasks.states import Priority


@pytest.fixture
def empty_registry() -> Iterator[None]:
    with registry.preserved():
        for handler in registry.all():
            registry.unregister(handler.spec.key)
        yield


def told(**options: Any) -> list[tuple[str, str]]:
    def handler(user_id: int = 0) -> None: ...

    registry.replace(FunctionHandler(handler, JobSpec("tests.one", **options)))
    return [(message.id.removeprefix("jobsplatform.tasks."), message.msg) for message in handler_checks()]


@pytest.mark.usefixtures("empty_registry")
def test_a_sound_handler_is_not_mentioned() -> None:
    assert told(timeout=60, soft_timeout=50, dedupe_key="u:{user_id}") == []


@pytest.mark.usefixtures("empty_registry")
@pytest.mark.parametrize(
    ("options", "number", "words"),
    [
        ({"timeout": 60, "soft_timeout": 60}, "E001", "soft_timeout (60 s) is not below timeout (60 s)"),
        ({"exclusive": True, "max_concurrency": 2}, "E002", "exclusive"),
        ({"dedupe_key": "u:{usr_id}"}, "E003", "dedupe_key 'u:{usr_id}' names the param 'usr_id'"),
        ({"concurrency_key": "u:{usr_id}"}, "E003", "concurrency_key"),
        ({"exclusive": True, "concurrency_key": "u"}, "W001", "never decides"),
        ({"queue": "nobody"}, "W002", "'nobody' is not in TASKS__QUEUES (default)"),
        ({"preemptible": True, "priority": Priority.URGENT}, "W003", "preemptible"),
        ({"cancel_grace": 3600}, "W004", "cancel_grace (3600 s)"),
    ],
)
def test_each_fault_has_its_number_and_names_the_handler(
    options: dict[str, Any], number: str, words: str
) -> None:
    with config.override(tasks={"queues": ("default",)}):
        messages = told(**options)
    assert [found for found, _ in messages] == [number]
    assert words in messages[0][1]
    assert f"tests.one ({__file__}:" in messages[0][1]


@pytest.mark.usefixtures("empty_registry")
def test_params_without_a_json_schema_are_an_error() -> None:
    def handler(call: Callable[[], int]) -> None: ...

    registry.replace(FunctionHandler(handler, JobSpec("tests.one")))
    assert [message.id for message in handler_checks()] == ["jobsplatform.tasks.E004"]


def test_the_shipped_handlers_pass() -> None:
    assert "files.scan" in {handler.spec.job_type for handler in registry.all()}
    assert handler_checks() == []
