"""Random interleavings of everything that may happen to jobs: no stale write lands, and nothing is lost.

``JP_LEASE_EXAMPLES=500`` looks longer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from jobsplatform.testing.commits import commits
from tests.database.lease_model.bugs import BUGS
from tests.database.lease_model.machine import LeaseMachine
from tests.database.lease_model.world import declared

pytestmark = pytest.mark.django_db


def rules_of_search(examples: int) -> settings:
    """The same examples in every run: what is found is found again."""
    return settings(
        max_examples=examples,
        stateful_step_count=16,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(autouse=True)
def types() -> Iterator[None]:
    with declared(), commits():
        yield


def test_leases_hold_whatever_happens() -> None:
    few = 8 if connection.vendor == "sqlite" else 5
    run_state_machine_as_test(
        LeaseMachine, settings=rules_of_search(int(os.environ.get("JP_LEASE_EXAMPLES", few)))
    )


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_the_model_notices_a_planted_bug(bug: Callable[[], Any]) -> None:
    with bug(), pytest.raises(AssertionError, match=BUGS[bug]):
        run_state_machine_as_test(LeaseMachine, settings=rules_of_search(40))
