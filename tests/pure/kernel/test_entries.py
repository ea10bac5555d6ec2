"""The entries, each in a process of its own: what they import, and how they refuse a wrong environment."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import jobsplatform

ROOT = Path(__file__).resolve().parents[3]


def run(*command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    ours = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return subprocess.run(
        [sys.executable, *command],
        env=kept | {"PYTHONPATH": str(ROOT)} | environ,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_importing_the_package_needs_no_settings() -> None:
    code = (
        "import sys, jobsplatform; print(any(m.split('.')[0] in ('django', 'celery') for m in sys.modules))"
    )
    assert run("-c", code).stdout == "False\n"


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="enque"):
        jobsplatform.enque  # noqa: B018


def test_public_names_are_listed_before_they_are_loaded() -> None:
    assert set(jobsplatform.__all__) <= set(dir(jobsplatform))
    assert set(jobsplatform.__all__) == set(jobsplatform._HOMES)


@pytest.mark.parametrize("name", jobsplatform.__all__)
def test_each_public_name_is_there(name: str) -> None:
    assert getattr(jobsplatform, name) is not None


@pytest.mark.parametrize(
    "command",
    [
        ("manage.py", "check"),
        ("manage.py", "migrate"),
        ("-c", "import jobsplatform.asgi"),
        ("-m", "celery", "-A", "jobsplatform", "report"),
    ],
)
def test_a_wrong_environment_ends_with_one_line_a_fault(command: tuple[str, ...], tmp_path: Path) -> None:
    ended = run(*command, DATA_DIR=str(tmp_path), TASKS__BATCH="many", TASKS__PROVIDR="sync")
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert ended.stderr.splitlines() == [
        "The environment is wrong:",
        "  TASKS__PROVIDR: no such setting. Did you mean TASKS__PROVIDER?",
        "  TASKS__BATCH: expected a whole number at least 1 and at most 1000000000, got 'many'.",
    ]


def test_check_passes_with_the_defaults(tmp_path: Path) -> None:
    ended = run("manage.py", "check", DATA_DIR=str(tmp_path))
    assert (ended.returncode, ended.stdout) == (0, "System check identified no issues (0 silenced).\n")


def test_check_refuses_an_unsafe_cloud_with_ids_and_hints(tmp_path: Path) -> None:
    ended = run(
        "manage.py",
        "check",
        PROFILE="cloud",
        SECRET_KEY="short",
        DATABASE_URL=f"sqlite:///{tmp_path}/x.sqlite3",
        DATA_DIR=str(tmp_path),
        DEBUG="1",
        LOCKS__PROVIDER="memory",
    )
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    for number in ("E001", "E002", "E003", "E004", "E005", "E007"):
        assert f"jobsplatform.{number}" in ended.stderr
    assert "HINT" in ended.stderr


def test_zone_rules_come_from_the_pinned_package(tmp_path: Path) -> None:
    code = "import jobsplatform.settings, zoneinfo; print(zoneinfo.TZPATH)"
    assert run("-c", code, DATA_DIR=str(tmp_path), PYTHONTZPATH="/usr/share/zoneinfo").stdout == "()\n"


def test_ctrl_c_while_everything_is_loaded_ends_without_a_traceback(tmp_path: Path) -> None:
    package = tmp_path / "slowapp"
    package.mkdir()
    (package / "__init__.py").write_text("")
    # Stands for a Ctrl-C in the middle of the imports.
    (package / "jobs.py").write_text("raise KeyboardInterrupt\n")
    done = run("manage.py", "jobs", "list", APPS="slowapp", PYTHONPATH=f"{ROOT}:{tmp_path}")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
