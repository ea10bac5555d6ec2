"""The pytest plugin that chooses the database of a run and starts the servers that it needs.

Loaded by `-p`, because pytest-django reads the settings (and they the environment) before any conftest file.

- The database is the one `--postgres` or JP_TEST_DATABASE (sqlite, postgres) asks for; else that of
  DATABASE_URL; else PostgreSQL when flows or browser tests are among the chosen, SQLite when not.
- PostgreSQL is the server of DATABASE_URL where that names one, else one of our own.
- Redis is that of REDIS_URL, else one of our own; the settings see it in flows and browser tests alone.
"""

import os
import shutil
import zoneinfo
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.services import ServerError, start_postgres, start_redis
from tests.services.accounts import Account
from tests.services.folders import make_folder
from tests.services.guard import Guard

DATABASES = ("sqlite", "postgres")
_ROOT = Path(__file__).resolve().parents[2]
_REAL_LAYERS = (_ROOT / "tests" / "flows", _ROOT / "tests" / "browser")
_POSTGRES_SCHEMES = ("postgres://", "postgresql://")


class Services:
    """The servers of this run; what it started ends with the run."""

    def __init__(self, add_cleanup: Callable[[Callable[[], None]], None]) -> None:
        self._add_cleanup = add_cleanup
        self._redis_url = os.environ.pop("REDIS_URL", "")
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """A folder for the run's own files."""
        if self._folder is None:
            self._folder = make_folder(Account())
            self._guard = Guard(None, self._folder)
            self._add_cleanup(self._remove_folder)
        return self._folder

    def _remove_folder(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self._guard.release()

    def redis_url(self) -> str:
        """The url of the run's Redis, which is started when there is none yet."""
        if not self._redis_url:
            server = start_redis()
            self._add_cleanup(server.stop)
            self._redis_url = server.url
        return self._redis_url

    def use(self, database: str, *, real: bool) -> None:
        """Write the urls into the environment, for the settings of this process and of its children."""
        os.environ["DATA_DIR"] = str(self.folder)
        given = os.environ.get("DATABASE_URL", "")
        if database == "sqlite":
            if not given.startswith("sqlite:"):
                os.environ["DATABASE_URL"] = f"sqlite:///{self.folder / 'main.sqlite3'}"
        elif not given.startswith(_POSTGRES_SCHEMES):
            server = start_postgres()
            self._add_cleanup(server.stop)
            os.environ["DATABASE_URL"] = server.url
        if real:
            os.environ["REDIS_URL"] = self.redis_url()


_KEY = pytest.StashKey[Services]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--postgres", action="store_true", help="run on PostgreSQL, not on SQLite")


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, args: list[str]
) -> Generator[None, None, None]:
    # Only the pinned tzdata package may say what a time zone is; children read it from the environment.
    os.environ["PYTHONTZPATH"] = ""
    zoneinfo.reset_tzpath(to=())
    options = early_config.known_args_namespace
    services = early_config.stash[_KEY] = Services(early_config.add_cleanup)
    # A worker of pytest-xdist finds the urls in the environment already.
    if "PYTEST_XDIST_WORKER" not in os.environ and not options.help and not options.version:
        real = chooses_real_layers(options.file_or_dir)
        database = "postgres" if options.postgres else chosen_database(real=real)
        try:
            services.use(database, real=real)
        except ServerError as error:
            raise pytest.UsageError(str(error)) from None
    return (yield)


def chosen_database(*, real: bool) -> str:
    """The database that the environment asks for; `real` says that flows or browser tests are chosen."""
    wanted = os.environ.get("JP_TEST_DATABASE", "")
    if wanted and wanted not in DATABASES:
        raise pytest.UsageError(f"JP_TEST_DATABASE is {wanted!r}; expected one of: {', '.join(DATABASES)}")
    given = os.environ.get("DATABASE_URL", "")
    if given and not given.startswith(("sqlite:", *_POSTGRES_SCHEMES)):
        raise pytest.UsageError("DATABASE_URL must start with sqlite: or postgresql:")
    by_url = "postgres" if given.startswith(_POSTGRES_SCHEMES) else "sqlite" if given else ""
    return wanted or by_url or ("postgres" if real else "sqlite")


def chooses_real_layers(chosen: list[str]) -> bool:
    """Whether the paths on the command line reach into a layer that runs real processes."""
    paths = [Path(argument.split("::")[0]).resolve() for argument in chosen] or [_ROOT / "tests"]
    return any(
        layer.is_relative_to(path) or path.is_relative_to(layer) for path in paths for layer in _REAL_LAYERS
    )


def pytest_report_header() -> list[str]:
    database = "PostgreSQL" if os.environ.get("DATABASE_URL", "").startswith(_POSTGRES_SCHEMES) else "SQLite"
    return [f"database: {database}, broker: {'Redis' if os.environ.get('REDIS_URL') else 'in memory'}"]


@pytest.fixture(scope="session")
def redis_url(request: pytest.FixtureRequest) -> str:
    """The url of a real Redis, also in runs whose settings use none."""
    return request.config.stash[_KEY].redis_url()


@pytest.fixture(scope="session")
def run_folder(request: pytest.FixtureRequest) -> Path:
    """A short-named folder that lives as long as the run."""
    return request.config.stash[_KEY].folder
