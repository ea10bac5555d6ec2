"""Tests without a database: nobody looks there for types that sidecars have bound."""

from collections.abc import Iterator

import pytest

from tasks import registry


@pytest.fixture(autouse=True)
def no_bindings() -> Iterator[None]:
    """The registry knows what code declares."""
    look = registry.watching()
    registry.watch(None)
    yield
    registry.watch(look)
