"""`./dev bench` has an environment of its own, so that no rival gets into that of the platform."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.ground.dev_folder import DevFolder

ROOT = Path(__file__).resolve().parents[2]
PINS = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[^]]*\])?==([^ ;\\]+)", re.MULTILINE)
RIVALS = [
    Requirement(line)
    for line in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"][
        "bench"
    ]
]


def pins(lock: str) -> dict[str, str]:
    return {canonicalize_name(name): version for name, version in PINS.findall((ROOT / lock).read_text())}


@pytest.fixture
def dev(tmp_path: Path) -> DevFolder:
    folder = DevFolder(tmp_path)
    folder.python("python3")
    folder.write(
        "requirements-bench.lock", "uv==1 \\\n    --hash=sha256:00\nrival==1 \\\n    --hash=sha256:02\n"
    )
    folder.write("benchmarks.py", "import sys\nprint('bench', *sys.argv[1:])\n")
    return folder


def test_bench_installs_its_own_lock_into_its_own_environment(dev: DevFolder) -> None:
    done = dev.run("bench", "jobs", "--quick")
    assert (done.returncode, done.stdout) == (0, "bench jobs --quick\n")
    assert dev.calls()[-1] == (
        "uv pip install --quiet --python .venv-bench/bin/python "
        "--require-hashes --only-binary :all: -r requirements-bench.lock"
    )
    assert not (dev.folder / ".venv").exists()


def test_the_next_bench_installs_nothing(dev: DevFolder) -> None:
    dev.run("bench", "jobs")
    dev.calls()
    assert dev.run("bench", "jobs").returncode == 0
    assert dev.calls() == []


def test_each_rival_has_a_pin_in_the_lock_of_bench_alone() -> None:
    bench, platform = pins("requirements-bench.lock"), pins("requirements.lock")
    for rival in RIVALS:
        name = canonicalize_name(rival.name)
        assert rival.specifier.contains(bench.get(name, "0"), prereleases=True), f"{rival}: ./dev lock"
        assert name not in platform


def test_what_both_locks_name_has_one_version() -> None:
    bench, platform = pins("requirements-bench.lock"), pins("requirements.lock")
    assert {name: bench.get(name) for name in platform} == platform


def test_the_lock_of_bench_has_hashes_and_names_no_index() -> None:
    lock = (ROOT / "requirements-bench.lock").read_text()
    entries = [entry for entry in re.split(r"\n(?=\S)", lock) if not entry.startswith("#")]
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    assert not re.search(r"://|--(extra-)?index|--find-links|--trusted-host", lock)
