"""One conformance pack passes for handlers inside the platform, for sidecars of the Python SDK over each transport,
and for a sidecar in another language that knows the HTTP contract alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from tests.flows.conformance import ConformancePlatform, free_port, run_pack
from tests.flows.processes import ROOT, Command

pytestmark = pytest.mark.flow

CALL_SECONDS = 20
LATER = "deferred or killed or children or cancels or snooze or hands or lease"
EXAMPLE = ROOT / "sdk" / "python" / "examples" / "thumbnails"
PYTHON_SIDECAR = (
    f"{sys.executable} -m jobsplatform_sdk.conformance.sidecar --url {{url}} --token-file {{token_file}}"
)
NODE_SIDECAR = f"node {ROOT / 'tests' / 'flows' / 'node_sidecar' / 'main.mjs'} {{url}} {{token_file}}"
CELERY_SIDECAR = (
    f"{sys.executable} -m jobsplatform_sdk.conformance.celery_sidecar"
    " --url {{url}} --token-file {{token_file}} --broker {broker} --keep 6"
)
WORKER = f"{sys.executable} -m celery -A jobsplatform --quiet worker -c 4 -Q conf --without-mingle --without-gossip"


@pytest.fixture(scope="module")
def platform(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConformancePlatform]:
    path = os.pathsep.join((str(ROOT), str(ROOT / "sdk" / "python")))
    own_broker = environment["REDIS_URL"].rstrip("/0") + "/5"
    settings = {
        "APPS": "tests.flows.confapp",
        "PYTHONPATH": path,
        "BUS__CALL_PRIVATE": "true",
        "BUS__CALL_SECONDS": str(CALL_SECONDS),
        "BUS__CELERY_BROKERS": json.dumps({"conf-celery": own_broker}),
        "OWN_BROKER": own_broker,
    }
    started = ConformancePlatform({**environment, **settings}, tmp_path_factory.mktemp("platform"))
    try:
        started.start()
        yield started
    finally:
        started.kill()


def passes(platform: ConformancePlatform, app_id: str, sidecar: str, transport: str, *arguments: str) -> None:
    code, said = run_pack(platform, app_id, sidecar, transport, *arguments)
    assert code == 0, f"{said}\n{platform.output()}"


def test_handlers_inside_the_platform(platform: ConformancePlatform) -> None:
    passes(platform, "conf-inside", WORKER, "inside")


def test_a_python_sidecar_that_claims(platform: ConformancePlatform) -> None:
    passes(platform, "conf-claim", PYTHON_SIDECAR, "claim")


def called(port: int, answer: float) -> str:
    return f"{PYTHON_SIDECAR} --port {port} --answer {answer} --keep 6"


def test_a_python_sidecar_that_is_called(platform: ConformancePlatform) -> None:
    port = free_port()
    platform.approve("conf-http", f"http://127.0.0.1:{port}/jobs")
    passes(platform, "conf-http", called(port, CALL_SECONDS / 2), "http")


def test_a_python_sidecar_that_answers_later(platform: ConformancePlatform) -> None:
    port = free_port()
    platform.approve("conf-later", f"http://127.0.0.1:{port}/jobs")
    # Where "later" makes a difference; the rest is the same.
    passes(platform, "conf-later", called(port, 0), "http", "-k", LATER)


def test_a_python_sidecar_behind_a_broker_of_its_own(platform: ConformancePlatform) -> None:
    broker = platform.environment["OWN_BROKER"]
    passes(platform, "conf-celery", CELERY_SIDECAR.format(broker=broker), "celery")


@pytest.mark.skipif(shutil.which("node") is None and not os.environ.get("CI"), reason="needs Node")
def test_a_sidecar_in_another_language_without_an_sdk(platform: ConformancePlatform) -> None:
    passes(platform, "conf-node", NODE_SIDECAR, "claim")


def test_the_node_sidecar_uses_no_package(platform: ConformancePlatform) -> None:
    code = "".join(
        file.read_text() for file in sorted((Path(__file__).parent / "node_sidecar").glob("*.mjs"))
    )
    imported = {
        line.split(" from ")[1].strip(" ;\"'") for line in code.splitlines() if line.startswith("import ")
    }
    assert all(name.startswith(("node:", "./")) for name in imported), imported


def test_the_example_makes_thumbnails_of_real_images(platform: ConformancePlatform, tmp_path: Path) -> None:
    folder = tmp_path / "root" / "holidays"
    folder.mkdir(parents=True)
    turned = Image.Exif()
    turned[0x0112] = 6  # to be shown turned by 90 degrees
    Image.linear_gradient("L").resize((800, 600)).save(folder / "a.jpg", exif=turned)
    Image.new("RGBA", (300, 900), (200, 30, 30, 128)).save(folder / "b.png")
    (folder / "broken.jpg").write_bytes((folder / "a.jpg").read_bytes()[:700])
    (folder / "notes.txt").write_text("no image")
    token = platform.token_file("thumbnails")
    options = ["--url", platform.url, "--token-file", str(token)]
    command = [sys.executable, str(EXAMPLE / "sidecar.py"), *options, "--root", str(tmp_path / "root")]
    sidecar = Command(tmp_path / "log", platform.environment, command)
    try:
        assert sidecar.said("started: "), sidecar.output

        def make(name: str, *more: str) -> tuple[int, str]:
            asked = [
                sys.executable,
                str(EXAMPLE / "make.py"),
                *options,
                "--folder",
                name,
                "--size",
                "64",
                *more,
            ]
            ended = subprocess.run(
                asked, env=platform.environment, capture_output=True, text=True, check=False, timeout=120
            )
            return ended.returncode, ended.stdout + ended.stderr

        code, said = make("holidays")
        assert code == 0 and "'made': 2" in said and "broken.jpg" in said, said + sidecar.output
        sizes = {}
        for file in sorted((folder / ".thumbnails").iterdir()):
            with Image.open(file) as picture:
                sizes[file.name] = picture.size
        assert sizes == {"a.jpg.jpg": (48, 64), "b.png.jpg": (21, 64)}
        assert "'kept': 2" in make("holidays")[1]
        code, said = make("../..")
        assert code == 1 and "is not below" in said, said
        sidecar.send(signal.SIGTERM)
        assert sidecar.exit_code() == 0, sidecar.output
    finally:
        sidecar.kill()
