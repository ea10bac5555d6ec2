"""However the process that started servers ends, they end with it and leave no folder behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest

from tests.ground.processes import processes_in, wait_until
from tests.services.guard import Guard

ROOT = Path(__file__).resolve().parents[2]
CLEAN = {key: value for key, value in os.environ.items() if key not in {"DATABASE_URL", "REDIS_URL"}}


def start_services() -> "tuple[subprocess.Popen[str], Path, list[psutil.Process]]":
    owner = subprocess.Popen(
        [sys.executable, "-m", "tests.services", "up"], cwd=ROOT, stdout=subprocess.PIPE, text=True, env=CLEAN
    )
    assert owner.stdout is not None
    database, broker = owner.stdout.readline().strip(), owner.stdout.readline().strip()
    assert broker.startswith("REDIS_URL=redis://")
    folder = Path(parse_qs(urlsplit(database.removeprefix("DATABASE_URL=")).query)["host"][0])
    return owner, folder, psutil.Process(owner.pid).children(recursive=True)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_orderly_end_stops_the_servers(how: signal.Signals) -> None:
    owner, folder, children = start_services()
    owner.send_signal(how)
    assert owner.wait(timeout=30) == 0
    assert not folder.exists()
    assert psutil.wait_procs(children, timeout=30)[1] == []


def test_a_killed_owner_takes_its_servers_along() -> None:
    owner, folder, children = start_services()
    assert len(children) >= 4  # two servers and a guard for each
    owner.kill()
    owner.wait()
    assert psutil.wait_procs(children, timeout=30)[1] == []
    wait_until(lambda: not folder.exists(), "the folder is removed")


def test_a_killed_pytest_takes_its_servers_along(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    sample = tmp_path / "test_sample.py"
    sample.write_text(
        "import os, pathlib, signal\n"
        "def test_waits():\n"
        f"    pathlib.Path({str(ready)!r}).write_text(\n"
        "        os.environ['DATA_DIR'] + ' ' + os.environ['DATABASE_URL'])\n"
        "    signal.pause()\n"
    )
    config = tmp_path / "pytest.ini"
    config.write_text("[pytest]\naddopts = -p tests.services.plugin -p no:django -p no:cacheprovider\n")
    owner = subprocess.Popen(
        [sys.executable, "-m", "pytest", "--postgres", "-c", str(config), str(sample)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        env=CLEAN,
    )
    wait_until(lambda: ready.exists() and bool(ready.read_text()), "the sample test runs")
    data_dir, url = ready.read_text().split()
    folder = Path(parse_qs(urlsplit(url).query)["host"][0])
    assert processes_in(folder) != []
    owner.kill()
    owner.wait()
    wait_until(lambda: processes_in(folder) == [], "the servers end")
    wait_until(lambda: not folder.exists(), "the server's folder is removed")
    wait_until(lambda: not Path(data_dir).exists(), "the run's folder is removed")


def test_a_server_deaf_to_the_first_signal_is_killed(tmp_path: Path) -> None:
    deaf = "from signal import *; signal(SIGQUIT, SIG_IGN); print('deaf', flush=True); pause()"
    server = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
    assert server.stdout is not None
    server.stdout.readline()
    owner = os.fork()
    if owner == 0:
        Guard(server.pid, tmp_path / "folder")
        os._exit(0)
    os.waitpid(owner, 0)
    assert server.wait(timeout=30) == -signal.SIGKILL


def test_a_released_guard_lets_its_process_live(tmp_path: Path) -> None:
    server = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    guard = Guard(server.pid, tmp_path / "folder")
    guard.release()
    guard.release()
    assert server.poll() is None
    server.kill()
    server.wait()


@pytest.mark.parametrize("words", [[], ["down"], ["up", "postgers"]])
def test_wrong_use_is_told_in_one_line(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.services", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == "use: python -m tests.services up [postgres] [redis]\n"
