"""A loop's database connections."""

import pytest
from django.db import OperationalError, connection

from jobsplatform.kernel.loop import Loop, wait_until
from jobsplatform.kernel.models import Tenant

pytestmark = pytest.mark.django_db(transaction=True)


class Counting(Loop):
    """Counts tenants; can be made to fail once, or to lose its session."""

    name = "counting"

    def __init__(self) -> None:
        super().__init__()
        self.counts: list[int] = []
        self.fail = False
        self.failures = 0
        self.pid = 0

    def step(self) -> bool:
        if self.fail:
            self.fail = False
            raise OperationalError("the database went away")
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                self.pid = cursor.fetchone()[0]
        self.counts.append(Tenant.objects.count())
        return False

    def failed(self, error: Exception) -> None:
        self.failures += 1

    def wait_seconds(self) -> float:
        return 60


def test_an_outage_does_not_end_it() -> None:
    loop = Counting()
    loop.start()
    try:
        wait_until(lambda: len(loop.counts) == 1, timeout=10)
        Tenant.objects.create(tenant_id="a")
        loop.fail = True
        loop.wake()
        wait_until(lambda: loop.counts == [0, 1], timeout=10)
        assert loop.failures == 1
    finally:
        assert loop.stop()


@pytest.mark.postgres
def test_a_session_that_the_server_ended_is_replaced() -> None:
    loop = Counting()
    loop.start()
    try:
        wait_until(lambda: len(loop.counts) == 1, timeout=10)
        first = loop.pid
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [first])
        loop.wake()
        wait_until(lambda: len(loop.counts) == 2, timeout=10)
        assert loop.pid != first
    finally:
        assert loop.stop()


@pytest.mark.postgres
def test_a_stopped_loop_leaves_no_session_behind() -> None:
    loop = Counting()
    loop.start()
    wait_until(lambda: len(loop.counts) == 1, timeout=10)
    assert loop.stop()

    def gone() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE pid = %s", [loop.pid])
            return bool(cursor.fetchone()[0] == 0)

    wait_until(gone, timeout=10)
