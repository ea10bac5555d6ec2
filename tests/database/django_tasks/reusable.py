"""The tasks of an app that knows nothing of the platform."""

from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model

try:
    from django.tasks import task
except ImportError:
    from django_tasks import task

calls: list[Any] = []


class Odd(Exception):
    """Cannot be made of its text alone."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


@task
def add(one: int, two: int = 1) -> int:
    """Add two numbers. And more."""
    return one + two


@task(priority=10, queue_name="default")
def echo(*args: Any, **kwargs: Any) -> dict[str, Any]:
    return {"args": args, "kwargs": kwargs}


@task
def note(word: str) -> None:
    calls.append(word)


@task
async def count_users() -> int:
    return int(await sync_to_async(get_user_model().objects.count)())


@task
def fail(message: str = "no luck") -> None:
    raise ValueError(message)


@task
def fail_oddly() -> None:
    raise Odd(1, 2)


@task
def leave(how: str) -> None:
    raise {"exit": SystemExit, "interrupt": KeyboardInterrupt}[how]("enough")


@task
def fail_within() -> None:
    try:
        raise KeyError("first")
    except KeyError as error:
        raise ValueError(ValueError("second")) from error


@task
def answer_an_object() -> object:
    return object()


@task(takes_context=True)
def tell_attempt(context: Any, word: str) -> list[Any]:
    result = context.task_result
    return [context.attempt, result.id, result.status, result.args, word]


@task(takes_context=True)
def half_way(context: Any) -> None:
    context.job.progress(1, 2, "half way")
    context.job.checkpoint({"at": 1})
