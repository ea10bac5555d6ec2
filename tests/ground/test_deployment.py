"""The image and the compose file say what exists: commands, files, settings, health checks."""

import re
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy import web_healthy
from jobsplatform.kernel import config

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
OURS = ("migrate", "web", "worker")


def test_the_services() -> None:
    assert set(SERVICES) == {"postgres", "redis", "migrate", "web", "worker", "beat"}


@pytest.mark.parametrize("name", ["postgres", "redis", "web", "worker"])
def test_what_keeps_running_is_restarted_and_watched(name: str) -> None:
    assert SERVICES[name]["restart"] == "unless-stopped"
    assert SERVICES[name]["healthcheck"]["test"]


def test_the_migration_runs_once_and_web_and_worker_wait_for_it() -> None:
    assert SERVICES["migrate"]["restart"] == "no"
    assert SERVICES["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in ("web", "worker"):
        waits = SERVICES[name]["depends_on"]
        assert waits["migrate"]["condition"] == "service_completed_successfully"
        assert waits["redis"]["condition"] == "service_healthy"


@pytest.mark.parametrize("name", OURS)
def test_environment_names_are_settings(name: str) -> None:
    assert set(SERVICES[name]["environment"]) <= set(config.variables())


def loaded_environment() -> config.Config:
    given = {"SECRET_KEY": "k3" * 30, "POSTGRES_PASSWORD": "database", "REDIS_PASSWORD": "broker"}
    return config.load(
        {key: substituted(value, given) for key, value in SERVICES["web"]["environment"].items()}
    )


def test_the_environment_is_accepted_as_it_stands() -> None:
    loaded = loaded_environment()
    assert loaded.profile == "private"
    assert loaded.celery_broker_url == "redis://:broker@redis:6379/0"
    assert loaded.database_url == "postgresql://jobsplatform:database@postgres:5432/jobsplatform"


@pytest.mark.parametrize("secret", ["SECRET_KEY", "POSTGRES_PASSWORD", "REDIS_PASSWORD"])
def test_a_missing_secret_stops_compose_with_its_name(secret: str) -> None:
    uses = re.findall(r"\$\{(\w+)([^}]*)\}", TEXT)
    of_secret = [rest for name, rest in uses if name == secret]
    assert of_secret
    assert all(rest.startswith(f":?set {secret}") for rest in of_secret)
    assert re.search(rf"^#   {secret} ", TEXT, re.M), "explained at the top"


@pytest.mark.parametrize("name", OURS)
def test_commands_exist(name: str) -> None:
    program, *words = SERVICES[name]["command"]
    assert program == "python" or (Path(sys.executable).parent / program).is_file()
    for word in words:
        if word.endswith(".py"):
            assert (ROOT / word).is_file()


def test_the_entries_that_commands_name_exist() -> None:
    assert SERVICES["web"]["command"][1] == "jobsplatform.asgi:application"
    assert (ROOT / "jobsplatform" / "asgi.py").is_file()
    assert SERVICES["worker"]["command"][:6] == [
        "celery",
        "-A",
        "jobsplatform",
        "worker",
        "--pool",
        "prefork",
    ]
    assert (ROOT / "jobsplatform" / "celery.py").is_file()


def test_a_stopped_worker_is_given_longer_than_its_jobs_are() -> None:
    grace = float(SERVICES["worker"]["stop_grace_period"].removesuffix("s"))
    assert grace > loaded_environment().tasks.shutdown_grace_seconds + 5


def test_the_image_has_two_stages_no_root_and_a_health_check() -> None:
    assert len(re.findall(r"^FROM ", DOCKERFILE, re.M)) == 2
    last = DOCKERFILE.split("\nFROM ")[-1]
    assert re.search(r"^USER jobs$", last, re.M)
    assert re.search(r"^HEALTHCHECK ", last, re.M)
    first = DOCKERFILE.split("\nFROM ")[1]
    assert first.count("--require-hashes") == 2, "for uv itself, and for all the rest"


def test_the_image_holds_what_it_needs_and_nothing_else() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    taken = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    assert {"deploy", "jobsplatform", "tasks", "manage.py", "pyproject.toml", "requirements.lock"} <= taken
    assert not {"tests", "docs", ".git", ".venv", "var", ".env"} & taken


class Answers(BaseHTTPRequestHandler):
    status = 200
    asked: list[tuple[str, str]] = []

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers["Host"]))
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Answers]]:
    Answers.status, Answers.asked = 200, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    monkeypatch.setattr(web_healthy, "PORT", server.server_port)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Answers
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("allowed", "host"),
    [
        ("", "localhost"),
        ("*", "localhost"),
        ("jobs.example, other", "jobs.example"),
        (".example.com", "example.com"),
    ],
)
def test_a_healthy_web_process(
    web: type[Answers], monkeypatch: pytest.MonkeyPatch, allowed: str, host: str
) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", allowed)
    assert web_healthy.main() == 0
    assert web.asked == [("/health/live", host)]


def test_a_web_process_that_answers_with_an_error(
    web: type[Answers], capsys: pytest.CaptureFixture[str]
) -> None:
    web.status = 503
    assert web_healthy.main() == 1
    assert "answered 503" in capsys.readouterr().err


def test_a_web_process_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(web_healthy, "PORT", 1)
    assert web_healthy.main() == 1
    assert "no answer on port 1" in capsys.readouterr().err


def substituted(value: str, given: dict[str, str]) -> str:
    """What compose makes of `${NAME:?…}` and `${NAME:-default}`."""

    def one(match: "re.Match[str]") -> str:
        default = match[2].removeprefix(":-") if match[2].startswith(":-") else ""
        return given.get(match[1], default)

    return re.sub(r"\$\{(\w+)([^}]*)\}", one, value)
