"""Job types of an app, and its client."""

from __future__ import annotations

import pytest

from jobsplatform.testing.platform import HandPlatform
from tasks.handlers import FunctionHandler, job
from tests.database.bus.client import BusClient, MakeClient


@pytest.fixture
def scan(jobs: HandPlatform) -> FunctionHandler:
    """A job type of the app ``video``."""

    @job("scan", app_id="video", description="Scans a folder.")
    def scan(folder: str = "/", depth: int = 1) -> dict[str, object]:
        return {"folder": folder, "depth": depth}

    return scan


@pytest.fixture
def other_scan(jobs: HandPlatform) -> FunctionHandler:
    """The same of the app ``music``."""

    @job("scan", app_id="music")
    def scan(folder: str = "/") -> str:
        return folder

    return scan


@pytest.fixture
def video(scan: FunctionHandler, bus_client: MakeClient) -> BusClient:
    """A sidecar of the app ``video``, which may do everything."""
    return bus_client("video")


@pytest.fixture
def music(other_scan: FunctionHandler, bus_client: MakeClient) -> BusClient:
    """A sidecar of the app ``music``, which may do everything."""
    return bus_client("music")
