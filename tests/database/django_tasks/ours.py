"""Tasks that were written with the platform in mind."""

from jobsplatform import Discard, Retry, Snooze
from tasks.backend import task_options

try:
    from django.tasks import task
except ImportError:
    from django_tasks import task

tries: list[int] = []


@task
@task_options(max_attempts=3, backoff=10, timeout=60, max_concurrency=2, description="fails twice")
def third_time() -> int:
    tries.append(1)
    if len(tries) < 3:
        raise ConnectionError(f"try {len(tries)}")
    return len(tries)


@task
@task_options(max_attempts=2)
def steer(how: str) -> str:
    if how == "snooze":
        raise Snooze(60)
    if how == "retry":
        raise Retry(30, "busy")
    if how == "discard":
        raise Discard("not wanted")
    return how
