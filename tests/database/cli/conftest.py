"""Job types for the commands to work on."""

import pytest

from jobsplatform.testing.platform import HandPlatform
from tasks.context import JobContext
from tasks.handlers import FunctionHandler, job
from tasks.outcomes import Fail


@pytest.fixture
def adding(jobs: HandPlatform) -> FunctionHandler:
    """A job that works."""

    @job("cli.adding", description="Adds two numbers.", timeout=60)
    def adding(first: int, second: int = 1, note: str = "") -> dict[str, object]:
        return {"sum": first + second, "note": note}

    return adding


@pytest.fixture
def failing(jobs: HandPlatform) -> FunctionHandler:
    """A job that fails for good."""

    @job("cli.failing")
    def failing() -> None:
        raise Fail("no luck", retryable=False)

    return failing


@pytest.fixture
def crashing(jobs: HandPlatform) -> FunctionHandler:
    """A job that raises, once."""

    @job("cli.crashing", max_attempts=1)
    def crashing() -> None:
        raise ValueError("a bad day")

    return crashing


@pytest.fixture
def looping(jobs: HandPlatform) -> FunctionHandler:
    """A job with progress."""

    @job("cli.looping", app_id="video")
    def looping(ctx: JobContext) -> int:
        ctx.progress(3, 10, "third of ten")
        return 10

    return looping
