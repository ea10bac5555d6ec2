"""Job types for schedules that commands are tried on."""

import pytest

from jobsplatform.testing.platform import HandPlatform
from tasks.handlers import FunctionHandler, job


@pytest.fixture
def work(jobs: HandPlatform) -> FunctionHandler:
    """A job that works, with params."""

    @job("tests.work", description="Works.")
    def work(hours: int = 1, note: str = "") -> dict[str, int]:
        return {"hours": hours}

    return work
