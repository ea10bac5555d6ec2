"""A platform in memory, and sidecars that are stopped with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jobsplatform_sdk import Sidecar
from tests.pure.sdk.fake_bus import FakeBus


@pytest.fixture
def bus() -> FakeBus:
    return FakeBus()


@pytest.fixture
def make_sidecar(bus: FakeBus) -> Iterator[Callable[..., Sidecar]]:
    made: list[Sidecar] = []

    def make(**options: Any) -> Sidecar:
        sidecar = Sidecar(bus.client(), **{"wait_seconds": 0.05, "grace_seconds": 1.0, **options})
        made.append(sidecar)
        return sidecar

    yield make
    for sidecar in made:
        sidecar.stop(0.0)
