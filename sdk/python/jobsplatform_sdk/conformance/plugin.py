"""The pytest plugin of the pack: options that say where the platform is and how a sidecar is started."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from jobsplatform_sdk import Client
from jobsplatform_sdk.conformance.platform import Platform
from jobsplatform_sdk.conformance.processes import Operator, Sidecars

LACKING = "the pack needs --jp-url, --jp-token-file and --jp-sidecar"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("jobsplatform", "conformance of sidecars")
    group.addoption("--jp-url", help="address of the platform under which the sidecar is tried")
    group.addoption(
        "--jp-token-file",
        type=Path,
        help="holds a token of the app, with every scope of jobs and its own app",
    )
    group.addoption(
        "--jp-sidecar",
        metavar="COMMAND",
        help="starts the sidecar under trial; {url} and {token_file} are put in",
    )
    group.addoption(
        "--jp-operator",
        metavar="COMMAND",
        help="does what no bus method does: called with 'restart', 'suspend TYPE' or 'unsuspend TYPE'",
    )
    group.addoption(
        "--jp-transport",
        choices=("claim", "http", "celery", "inside"),
        default="claim",
        help="how jobs come to the sidecar; 'inside': it is a worker of the platform",
    )


@pytest.fixture(scope="session")
def jp_sidecars(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sidecars]:
    """The sidecars under trial."""
    url, token_file, command = (
        request.config.getoption(name) for name in ("--jp-url", "--jp-token-file", "--jp-sidecar")
    )
    if not (url and token_file and command):
        pytest.skip(LACKING)
    sidecars = Sidecars(command, url, token_file, tmp_path_factory.mktemp("sidecars"))
    yield sidecars
    sidecars.kill_all()


@pytest.fixture(scope="session")
def jp_client(jp_sidecars: Sidecars) -> Iterator[Client]:
    """A client with the app's token."""
    with Client(jp_sidecars.url, jp_sidecars.token_file.read_text().strip(), retry_seconds=60) as client:
        yield client


@pytest.fixture(scope="session")
def jp_transport(request: pytest.FixtureRequest) -> str:
    """How jobs come to the sidecar."""
    return str(request.config.getoption("--jp-transport"))


@pytest.fixture
def jp(jp_client: Client, jp_sidecars: Sidecars, request: pytest.FixtureRequest) -> Iterator[Platform]:
    """The platform with one sidecar that runs; what a test leaves behind is cancelled."""
    operator = request.config.getoption("--jp-operator")
    platform = Platform(jp_client, jp_sidecars, None if operator is None else Operator(operator))
    platform.be_ready()
    yield platform
    platform.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    sidecars = getattr(item, "funcargs", {}).get("jp_sidecars")
    if report.failed and sidecars is not None:
        for process in sidecars.started[-2:]:
            report.sections.append((process.log.name, process.output[-4000:]))
    return report
