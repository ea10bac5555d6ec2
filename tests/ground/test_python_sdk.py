"""The Python SDK as somebody installs it who has neither Django nor the platform: its wheel in an empty environment."""

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SDK = ROOT / "sdk" / "python"
UV = Path(sys.executable).parent / "uv"

IMPORTS = """
import importlib, pkgutil, sys
import jobsplatform_sdk

for module in pkgutil.walk_packages(jobsplatform_sdk.__path__, "jobsplatform_sdk."):
    if not module.name.rpartition(".")[2].startswith("celery_"):  # the extra
        importlib.import_module(module.name)
taken = sorted({name.partition(".")[0] for name in sys.modules} & {"django", "celery", "tasks", "jobsplatform"})
assert taken == [], taken
"""
SIDECAR = """
import sys
from jobsplatform_sdk import Client, Sidecar

sidecar = Sidecar(Client(sys.argv[1], "jp_token"), wait_seconds=0.1)


@sidecar.job("double")
async def double(ctx, n: int) -> int:
    ctx.progress(1, 1)
    return 2 * n


sidecar.start()
sys.stdin.readline()
sidecar.stop()
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has the SDK's wheel, what it needs, and pytest for the pack."""
    folder = tmp_path_factory.mktemp("sdk")
    shutil.copytree(SDK, folder / "source", ignore=shutil.ignore_patterns("__pycache__", "examples"))
    subprocess.run([UV, "build", "-q", "--wheel", "--out-dir", folder, folder / "source"], check=True)
    subprocess.run([UV, "venv", "-q", "--python", sys.executable, folder / "venv"], check=True)
    (wheel,) = folder.glob("*.whl")
    interpreter = folder / "venv" / "bin" / "python"
    lock = ["-c", ROOT / "requirements.lock", "--no-verify-hashes"]
    subprocess.run([UV, "pip", "install", "-q", "--python", interpreter, *lock, wheel, "pytest"], check=True)
    return interpreter


def run(python: Path, *arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [python, *arguments], capture_output=True, text=True, check=False, env={}, timeout=60, **options
    )


def test_everything_is_imported_without_django(python: Path) -> None:
    ended = run(python, "-c", IMPORTS)
    assert ended.returncode == 0, ended.stderr
    assert "No module named 'django'" in run(python, "-c", "import django").stderr


def test_httpx_is_all_that_it_brings_along(python: Path) -> None:
    shown = subprocess.run(
        [UV, "pip", "tree", "--python", python, "--package", "jobsplatform-sdk", "--depth", "1"],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split()[1] for line in shown.stdout.splitlines() if line.startswith(("├", "└"))]
    assert lines == ["httpx"]


def test_types_are_shipped(python: Path) -> None:
    code = "import jobsplatform_sdk, pathlib; print(pathlib.Path(jobsplatform_sdk.__file__).parent)"
    package = Path(run(python, "-c", code).stdout.strip())
    assert (package / "py.typed").exists()
    assert package.is_relative_to(python.parents[1])


def test_pytest_finds_the_pack_by_itself(python: Path, tmp_path: Path) -> None:
    chosen = ["-m", "pytest", "--pyargs", "jobsplatform_sdk.conformance.pack", "-q", "-p", "no:cacheprovider"]
    ended = run(python, *chosen, "--collect-only", "--jp-url=http://127.0.0.1:1", cwd=tmp_path)
    assert ended.returncode == 0 and "test_params_arrive" in ended.stdout, ended.stdout + ended.stderr
    ended = run(python, *chosen, "-rs", cwd=tmp_path)
    assert ended.returncode == 0 and "the pack needs --jp-url" in ended.stdout, ended.stdout


@pytest.fixture
def bus() -> Iterator["Bus"]:
    server = Bus(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


class Bus(ThreadingHTTPServer):
    """As much of a platform as one job needs."""

    daemon_threads = True
    offered = False
    endings: "list[dict[str, Any]]"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.endings = []
        self.ended = threading.Event()

    def answer(self, method: str, body: dict[str, Any]) -> dict[str, Any]:
        standing = {"cancel": None, "lease_expires_at": None}
        if method == "jobs.claim":
            job = {"id": "1", "job_type": "double", "status": "running", "params": {"n": 21}, "data": {}}
            jobs, self.offered = ([] if self.offered else [{"job": job, "lease": 1}]), True
            return {"jobs": jobs, "heartbeat_seconds": 5, "lease_seconds": 15}
        if method == "jobs.update_status":
            self.endings.append(body["ending"])
            self.ended.set()
            return {"state": "completed", **standing}
        return {"handler": {}, "runs": [], **standing}


class Answers(BaseHTTPRequestHandler):
    server: Bus

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps(self.server.answer(self.path.removeprefix("/bus/v1/"), body)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None: ...


def test_a_sidecar_runs_a_job_there(python: Path, bus: Bus) -> None:
    process = subprocess.Popen(
        [python, "-c", SIDECAR, f"http://127.0.0.1:{bus.server_address[1]}"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={},
    )
    try:
        assert bus.ended.wait(30), "no end was told"
    finally:
        _, said = process.communicate("stop\n", timeout=30)
    assert process.returncode == 0, said
    assert bus.endings == [{"kind": "completed", "result": 42}]
