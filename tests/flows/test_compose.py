"""What docker-compose.yml describes, run as it stands on a new database: migrate, web, worker, beat, health checks."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.flows.processes import ROOT, Command, until
from tests.services import start_postgres, start_redis

SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
BIN = Path(sys.executable).parent

pytestmark = pytest.mark.flow


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


PORT = free_port()


def command_of(service: str) -> list[str]:
    """The service's command, with this environment's programs, a free port, and defaults filled in."""
    words = [re.sub(r"\$\{\w+:-(\w*)\}", r"\1", word) for word in SERVICES[service]["command"]]
    words = [str(PORT) if word == "8000" else "127.0.0.1" if word == "0.0.0.0" else word for word in words]
    return [str(BIN / words[0]), *words[1:]]


def healthy(service: str, environment: dict[str, str]) -> bool:
    """Whether the service's own health check passes."""
    kind, *words = SERVICES[service]["healthcheck"]["test"]
    if kind == "CMD-SHELL":
        command: Sequence[str] = ["sh", "-c", words[0].replace("$$", "$")]
    else:
        script = (
            f"from deploy import web_healthy as check; check.PORT = {PORT}; raise SystemExit(check.main())"
        )
        assert words == ["python", "deploy/web_healthy.py"]
        command = [sys.executable, "-c", script]
    return run(command, environment).returncode == 0


def run(command: Sequence[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The compose file's environment with servers of this module's own, the database migrated."""
    with start_postgres() as postgres, start_redis() as redis:
        yield {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "HOSTNAME": socket.gethostname(),
            "PYTHONTZPATH": "",
            "DATA_DIR": str(tmp_path_factory.mktemp("data")),
            "PROFILE": SERVICES["web"]["environment"]["PROFILE"],
            "ALLOWED_HOSTS": "localhost,127.0.0.1",
            "SECRET_KEY": "a-key-of-this-test-alone-" * 3,
            "DATABASE_URL": postgres.url,
            "REDIS_URL": redis.url,
        }


@pytest.fixture(scope="module")
def migrated(environment: dict[str, str]) -> dict[str, str]:
    done = run(command_of("migrate"), environment)
    assert done.returncode == 0, done.stderr
    return environment


@pytest.fixture(scope="module")
def running(
    migrated: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Command]]:
    folder = tmp_path_factory.mktemp("services")
    commands = {
        name: Command(folder / name, migrated, command_of(name)) for name in ("web", "worker", "beat")
    }
    yield commands
    for command in commands.values():
        command.kill()


def test_a_second_migration_does_nothing(migrated: dict[str, str]) -> None:
    done = run(command_of("migrate"), migrated)
    assert done.returncode == 0
    assert "No migrations to apply" in done.stdout


@pytest.mark.parametrize("service", ["web", "worker", "beat"])
def test_the_health_check_passes(running: dict[str, Command], migrated: dict[str, str], service: str) -> None:
    assert until(lambda: healthy(service, migrated)), running[service].output


def test_a_real_scan_runs_on_the_worker(
    running: dict[str, Command], migrated: dict[str, str], tmp_path: Path
) -> None:
    for name, text in (("one.txt", "same"), ("below/two.txt", "same"), ("below/three.txt", "other")):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    words = shlex.split(f"jobs enqueue files.scan --param root={tmp_path} --wait --json")
    done = run([sys.executable, "manage.py", *words], migrated)
    assert done.returncode == 0, done.stderr + running["worker"].output
    output = json.loads(done.stdout)
    assert output["status"] == "completed"
    assert output["result"]["files"] == 3


@pytest.mark.parametrize("service", ["web", "worker", "beat"])
def test_sigterm_ends_it_in_good_order(running: dict[str, Command], service: str) -> None:
    running[service].send(signal.SIGTERM)
    assert running[service].exit_code() in (0, -signal.SIGTERM), running[service].output


def test_without_a_secret_the_reason_is_told_in_one_line(environment: dict[str, str]) -> None:
    lacking = {key: value for key, value in environment.items() if key != "SECRET_KEY"}
    done = run(command_of("migrate"), lacking)
    assert done.returncode == 2
    assert "SECRET_KEY" in done.stderr
    assert "Traceback" not in done.stderr
