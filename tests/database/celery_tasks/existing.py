"""Celery tasks as a project has them, which know nothing of jobs."""

from datetime import UTC, datetime
from typing import Any

from celery import Task, group, shared_task
from celery.exceptions import Ignore, Reject

called: list[Any] = []

WAYS: dict[str, dict[str, Any]] = {
    "countdown": {"countdown": 7},
    "eta": {"eta": datetime(2026, 1, 1, 12, 5, tzinfo=UTC)},
    "naive": {"eta": datetime(2026, 1, 1, 12, 1)},
    "never": {"max_retries": 0},
    "other arguments": {"args": ("fine",)},
}


class Hooked(Task):
    abstract = True

    def before_start(self, task_id, args, kwargs):
        called.append(("before_start", task_id, args, kwargs))

    def on_success(self, retval, task_id, args, kwargs):
        called.append(("on_success", retval))

    def on_failure(self, exc, task_id, args, kwargs, einfo):
        called.append(("on_failure", type(exc).__name__, "Traceback" in str(einfo)))

    def on_retry(self, exc, task_id, args, kwargs, einfo):
        called.append(("on_retry", type(exc).__name__))

    def after_return(self, status, retval, task_id, args, kwargs, einfo):
        called.append(("after_return", status))


@shared_task
def send(to: str, subject: str = "hello", *, urgent: bool = False) -> dict[str, Any]:
    """Send a letter. Really."""
    return {"to": to, "subject": subject, "urgent": urgent}


@shared_task(name="letters.archive", time_limit=60, soft_time_limit=50, max_retries=7)
def archive(*numbers: int, **options: Any) -> list[Any]:
    return [list(numbers), options]


@shared_task(bind=True)
def tell(self, first: Any, second: Any = None) -> dict[str, Any]:
    request = self.request
    return {
        "id": request.id,
        "retries": request.retries,
        "args": request.args,
        "kwargs": request.kwargs,
        "directly": request.called_directly,
        "name": self.name,
    }


@shared_task(bind=True, max_retries=2, default_retry_delay=30)
def stubborn(self, how: str) -> str:
    try:
        if how == "fine" or self.request.retries >= 5:
            return how
        raise ConnectionError(f"{how} {self.request.retries}")
    except ConnectionError as error:
        if how == "returned":
            return self.retry(exc=error, throw=False, countdown=9)
        if how == "unnamed":
            raise self.retry() from None
        raise self.retry(exc=error, **WAYS.get(how, {})) from error


@shared_task(autoretry_for=(ConnectionError,), retry_kwargs={"max_retries": 4, "countdown": 3})
def auto(word: str) -> str:
    if word == "value":
        raise ValueError(word)
    raise ConnectionError(word)


@shared_task(base=Hooked, bind=True)
def hooked(self, what: str) -> str:
    if what == "fail":
        raise ValueError(what)
    if what == "retry":
        raise self.retry(exc=KeyError(what), countdown=1)
    return what


@shared_task
def leave(how: str) -> None:
    if how == "ignore":
        raise Ignore("not needed")
    raise Reject("not mine", requeue=how == "requeue")


@shared_task(bind=True)
def replace_itself(self) -> None:
    return self.replace(group(send.s("a"), send.s("b")))


@shared_task
def answer_an_object() -> object:
    return object()


@shared_task(bind=True)
def count(self, most: int) -> int:
    for n in range(most):
        self.update_state(
            state="PROGRESS", meta={"current": n + 1, "total": most, "status": f"number {n + 1}"}
        )
    return most


@shared_task
def with_odd_default(
    when: datetime = datetime(2026, 1, 1), /, *, until: datetime = datetime(2026, 1, 2)
) -> str:
    return f"{when:%d} {until if isinstance(until, str) else until.day}"


@shared_task
def mixed(first: int, second: int = 2, *rest: int) -> list[int]:
    return [first, second, *rest]
