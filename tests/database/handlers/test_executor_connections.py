"""Whatever a handler does to its database connection, the next job finds a clean one."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, transaction

from jobsplatform.kernel.models import Tenant
from tasks import executor, registry
from tasks.handlers import job
from tasks.outcomes import Ending
from tests.pure.handlers.ports import context

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def own_registry() -> Iterator[None]:
    with registry.preserved():
        yield


def ending_of(function: Callable[[], Any]) -> Ending:
    declared = job("tests.one")(function)
    try:
        return executor.execute(declared, context(), continuing=False)
    finally:
        registry.unregister(":tests.one")


def writes() -> int:
    Tenant.objects.create(tenant_id="good")
    return Tenant.objects.filter(tenant_id="good").count()


def next_job_is_fine() -> bool:
    return ending_of(writes) == Ending("completed", result=1)


def test_a_transaction_left_open_is_rolled_back_and_told() -> None:
    def handler() -> str:
        transaction.atomic().__enter__()
        Tenant.objects.create(tenant_id="lost")
        return "done"

    ending = ending_of(handler)
    assert (ending.kind, ending.error_type) == ("failed", "TransactionLeftOpen")
    assert not Tenant.objects.filter(tenant_id="lost").exists()
    assert next_job_is_fine()


def test_a_transaction_left_open_by_a_failure_keeps_the_failure() -> None:
    def handler() -> None:
        transaction.atomic().__enter__()
        raise ValueError("its own")

    assert ending_of(handler).error == "its own"
    assert next_job_is_fine()


def test_a_broken_transaction_left_open() -> None:
    def handler() -> None:
        transaction.atomic().__enter__()
        with connection.cursor() as cursor:
            cursor.execute("SELECT no_such_column FROM kernel_tenant")

    assert ending_of(handler).kind == "failed"
    assert next_job_is_fine()


def test_autocommit_left_off() -> None:
    def handler() -> None:
        connection.set_autocommit(False)
        Tenant.objects.create(tenant_id="lost")

    ending_of(handler)
    assert not Tenant.objects.filter(tenant_id="lost").exists()
    assert next_job_is_fine()


def test_a_closed_connection() -> None:
    ending_of(lambda: connection.close())  # noqa: PLW0108
    assert next_job_is_fine()


@pytest.mark.postgres
def test_a_connection_that_the_server_ended() -> None:
    def handler() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    assert ending_of(handler).kind == "failed"
    assert next_job_is_fine()


def test_a_row_or_query_as_result_is_told() -> None:
    Tenant.objects.create(tenant_id="a")
    assert "use its id" in ending_of(lambda: Tenant.objects.get()).error  # noqa: PLW0108
    assert "It is a database query" in ending_of(lambda: Tenant.objects.all()).error  # noqa: PLW0108


def test_the_callers_own_transaction_is_left_alone() -> None:
    with transaction.atomic():
        Tenant.objects.create(tenant_id="callers")
        assert ending_of(writes).kind == "completed"
    assert Tenant.objects.filter(tenant_id="callers").exists()
