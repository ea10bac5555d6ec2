"""The clock follows the database, whatever this machine's own clock says and however slow an answer is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jobsplatform.kernel import clock
from jobsplatform.kernel.clock import SHORT_TRIP_SECONDS, DatabaseClock

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Server:
    """A database whose clock is an hour ahead of this machine's, and whose answers take a while to arrive."""

    vendor = "postgresql"

    def __init__(self, there: float = 0.0, back: float = 0.0) -> None:
        self.elapsed = 0.0
        self.there, self.back = there, back

    def now(self) -> datetime:
        return NOON + timedelta(seconds=3600 + self.elapsed)

    def cursor(self) -> Server:
        return self

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None: ...

    def execute(self, statement: str) -> None:
        self.elapsed += self.there
        self._read = self.now()
        self.elapsed += self.back

    def fetchone(self) -> tuple[datetime]:
        return (self._read,)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server(0.01, 0.01)
    monkeypatch.setattr(clock, "connection", server)
    monkeypatch.setattr(clock.time, "monotonic", lambda: server.elapsed)
    return server


def error(ours: DatabaseClock, server: Server) -> float:
    return abs((ours.now() - server.now()).total_seconds())


def test_it_is_the_databases_time_and_goes_on_between_two_readings(server: Server) -> None:
    ours = DatabaseClock()
    assert error(ours, server) < 0.001
    server.elapsed += 100
    assert error(ours, server) < 0.001


@pytest.mark.parametrize("there", [20.0, 0.0], ids=["asking", "hearing the answer"])
def test_a_process_that_is_stopped_at_its_first_reading_reads_again(
    server: Server, monkeypatch: pytest.MonkeyPatch, there: float
) -> None:
    execute, stops = Server.execute, iter([(there, 20.0 - there)])

    def stopped(self: Server, statement: str) -> None:
        self.there, self.back = next(stops, (0.01, 0.01))
        execute(self, statement)

    monkeypatch.setattr(Server, "execute", stopped)
    ours = DatabaseClock()
    assert error(ours, server) < 0.02


@pytest.mark.parametrize(("there", "back"), [(1.0, 0.0), (0.0, 1.0)], ids=["slow to ask", "slow to answer"])
def test_an_answer_over_a_connection_that_stood_still_does_not_put_it_wrong(
    server: Server, there: float, back: float
) -> None:
    ours = DatabaseClock()
    ours.sync()
    server.there, server.back = there, back
    ours.sync()
    assert error(ours, server) < 0.02


def test_a_database_whose_clock_is_set_is_followed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = DatabaseClock()
    ours.sync()
    stepped = Server.now
    monkeypatch.setattr(Server, "now", lambda self: stepped(self) - timedelta(seconds=30))
    ours.sync()
    assert error(ours, server) < 0.001


def test_a_database_that_is_always_slow_is_followed_too(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.there = server.back = SHORT_TRIP_SECONDS
    ours = DatabaseClock()
    ours.sync()
    stepped = Server.now
    monkeypatch.setattr(Server, "now", lambda self: stepped(self) + timedelta(seconds=30))
    ours.sync()
    assert error(ours, server) < 0.001


@pytest.mark.django_db
def test_it_reads_the_real_database() -> None:
    assert abs((DatabaseClock().now() - datetime.now(UTC)).total_seconds()) < 60
