"""Guessing passwords has a limit."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.contrib.auth import authenticate, get_user_model
from django.test import RequestFactory

from jobsplatform.kernel import clock, login
from jobsplatform.kernel.clock import FrozenClock
from jobsplatform.kernel.models import AuditEvent

pytestmark = pytest.mark.django_db

GOOD = "correct horse battery"


@pytest.fixture(autouse=True)
def frozen() -> Iterator[FrozenClock]:
    with clock.use(FrozenClock(datetime(2026, 3, 1, tzinfo=UTC))) as current:
        get_user_model().objects.create_user("ann", password=GOOD)
        yield current  # type: ignore[misc]


@pytest.fixture(autouse=True)
def _quick_hashes(settings: pytest.FixtureRequest) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # type: ignore[attr-defined]


def attempt(name: str, password: str, address: str = "10.0.0.9") -> bool:
    request = RequestFactory().post("/", REMOTE_ADDR=address)
    return authenticate(request, username=name, password=password) is not None


def test_the_right_password_opens() -> None:
    assert attempt("ann", GOOD)
    assert AuditEvent.objects.count() == 0


def test_a_failure_is_recorded_without_the_password() -> None:
    assert not attempt("ann", "sesame")
    row = AuditEvent.objects.get()
    assert (row.action, row.actor, row.target_id, row.ip) == ("login.failed", "ann", "ann", "10.0.0.9")
    assert row.outcome == "error"
    assert "sesame" not in str(row.__dict__)


def test_after_ten_failures_even_the_right_password_waits(frozen: FrozenClock) -> None:
    for _ in range(login.PER_NAME):
        assert not attempt("ann", "guess")
    assert not attempt("ann", GOOD)
    assert AuditEvent.objects.count() == login.PER_NAME
    frozen.advance(login.WINDOW.total_seconds() + 1)
    assert attempt("ann", GOOD)


def test_a_stranger_does_not_lock_the_operator_out() -> None:
    for _ in range(login.PER_NAME + 1):
        attempt("ann", "guess", address="203.0.113.5")
    assert attempt("ann", GOOD)


def test_an_address_that_tries_many_names_is_closed_for_all() -> None:
    for number in range(login.PER_ADDRESS):
        attempt(f"user{number}", "guess", address="203.0.113.5")
    assert not attempt("ann", GOOD, address="203.0.113.5")
    assert attempt("ann", GOOD)


@pytest.mark.parametrize("name", ["", "x" * 5000, "a\x00b", "é\n"])
def test_wild_names_are_only_failures(name: str) -> None:
    assert not attempt(name, "guess")


def test_code_without_a_request_is_not_limited() -> None:
    for _ in range(login.PER_NAME + 1):
        authenticate(username="ann", password="guess")
    assert authenticate(username="ann", password=GOOD) is not None
