"""A lost broker connection that cannot even be closed must not end the worker."""

from typing import Any

import pytest
from celery.worker.consumer import Consumer

from tasks.worker.consumer import STOCK, PatientConsumer, choose


def test_a_connection_that_cannot_be_closed_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Any, exc: Exception) -> None:
        raise AttributeError("'NoneType' object has no attribute 'hostname'")

    monkeypatch.setattr(Consumer, "on_connection_error_after_connected", fail)
    consumer = object.__new__(PatientConsumer)
    consumer.connection = object()
    consumer.on_connection_error_after_connected(ConnectionError("gone"))
    assert consumer.connection is None


def test_a_consumer_that_a_project_has_chosen_stays() -> None:
    assert choose(STOCK) is PatientConsumer
    assert choose("their.own:Consumer") == "their.own:Consumer"
    assert choose(Consumer) is Consumer
