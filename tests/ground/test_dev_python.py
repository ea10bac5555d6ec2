"""Which Python ./dev takes, and what it says when there is none."""

from pathlib import Path

import pytest

from tests.ground.dev_folder import DevFolder


@pytest.fixture
def dev(tmp_path: Path) -> DevFolder:
    return DevFolder(tmp_path)


@pytest.mark.parametrize(
    ("installer", "expected"),
    [
        ("apt-get", "sudo apt-get install -y python3 python3-venv"),
        ("dnf", "sudo dnf install -y python3.12"),
        ("brew", "brew install python@3.13"),
    ],
)
def test_without_python_one_line_names_the_command_of_this_machine(
    dev: DevFolder, installer: str, expected: str
) -> None:
    dev.program(installer, "#!/bin/sh\nexit 0\n")
    done = dev.run("manage")
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr == f"no Python 3.11-3.13 was found; install it with: {expected}\n"
    assert not (dev.folder / ".venv").exists()


def test_the_newest_python_that_the_package_manager_offers_is_named(dev: DevFolder) -> None:
    dev.program("apt-get", "#!/bin/sh\nexit 0\n")
    dev.program("apt-cache", '#!/bin/sh\n[ "$2" = python3.12-venv ]\n')
    assert "apt-get install -y python3.12 python3.12-venv" in dev.run("manage").stderr


def test_root_needs_no_sudo(dev: DevFolder) -> None:
    dev.program("id", "#!/bin/sh\necho 0\n")
    dev.program("apt-get", "#!/bin/sh\nexit 0\n")
    assert "install it with: apt-get install" in dev.run("manage").stderr


def test_a_python_that_is_too_old_counts_as_none(dev: DevFolder) -> None:
    dev.old_python("python3")
    done = dev.run("manage")
    assert done.returncode == 3
    assert done.stderr.startswith("no Python 3.11-3.13 was found")


def test_a_python_without_venv_is_told_with_its_package(dev: DevFolder) -> None:
    dev.program("apt-get", "#!/bin/sh\nexit 0\n")
    lacking = dev.python_without_venv("python3")
    done = dev.run("manage")
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(
        f"{lacking} has no venv module; install it with: sudo apt-get install -y python3."
    )
    assert done.stderr.endswith("-venv\n")


def test_a_shim_that_fails_when_run_is_passed_over(dev: DevFolder) -> None:
    dev.program("python3.13", "#!/bin/sh\necho 'python3.13: command not found' >&2\nexit 127\n")
    good = dev.python("python3.12")
    assert dev.run("manage").returncode == 0
    assert f"venv by {good}" in dev.calls()


def test_a_working_python_behind_a_shim_of_the_same_name_is_found(dev: DevFolder) -> None:
    dev.program("python3.13", "#!/bin/sh\nexit 127\n")
    behind = dev.folder / "behind"
    behind.mkdir()
    good = dev.python("python3.13", behind)
    dev.python("python3")
    assert dev.run("manage", PATH=f"{dev.bin}:{behind}").returncode == 0
    assert f"venv by {good}" in dev.calls()


def test_one_with_venv_is_preferred_to_a_newer_one_without(dev: DevFolder) -> None:
    dev.python_without_venv("python3.13")
    good = dev.python("python3.11")
    assert dev.run("manage").returncode == 0
    assert f"venv by {good}" in dev.calls()


def test_an_unknown_command_is_wrong_use(dev: DevFolder) -> None:
    done = dev.run("tset")
    assert done.returncode == 2
    assert "./dev tset is not a command" in done.stderr
    assert "./dev test" in done.stderr


def test_help_needs_no_python(dev: DevFolder) -> None:
    done = dev.run("help")
    assert done.returncode == 0
    assert "./dev up" in done.stdout
