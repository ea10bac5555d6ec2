"""Fixtures that tests of several parts share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobsplatform.kernel import quotas
from tasks.bus import guesses
from tests.database.bus.client import MakeClient, make_client


@pytest.fixture
def bus_client() -> Iterator[MakeClient]:
    """``bus_client("video", ["jobs:read"])``: a sidecar with a token of that app (all scopes without a list)."""
    quotas.forget()
    guesses.forget()
    yield make_client
    quotas.forget()
