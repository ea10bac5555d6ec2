"""Imported by whoever finds a job of it."""

try:
    from django.tasks import task
except ImportError:
    from django_tasks import task


@task
def send(number: int) -> str:
    return f"newsletter {number}"
