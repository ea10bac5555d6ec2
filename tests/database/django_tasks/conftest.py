"""The backend under its usual settings, and what the framework's signals say."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings

from tasks import finding
from tasks.django_tasks import names

TASKS = {
    "default": {"BACKEND": "tasks.backend.JobsBackend", "QUEUES": ["default", "mail"]},
    "other": {"BACKEND": "tasks.backend.JobsBackend", "QUEUES": [], "OPTIONS": {"max_attempts": 2}},
}


@pytest.fixture(autouse=True)
def _backends() -> Iterator[None]:
    with override_settings(TASKS=TASKS):
        yield
    finding.forget()


@pytest.fixture
def told() -> Iterator[list[tuple[str, Any]]]:
    """Each signal of the framework: its name and the result it brought."""
    heard: list[tuple[str, Any]] = []
    receivers = {}
    for name in ("task_enqueued", "task_started", "task_finished"):

        def hear(sender: type, task_result: Any, name: str = name, **_: Any) -> None:
            heard.append((f"{name} by {sender.__name__}", task_result))

        receivers[name] = hear
        getattr(names, name).connect(hear)
    yield heard
    for name, receiver in receivers.items():
        getattr(names, name).disconnect(receiver)
