"""How ./dev installs: from the lock by hash, once, going on where it stopped, one at a time."""

from pathlib import Path

import pytest

from tests.ground.dev_folder import DevFolder

INSTALL = (
    "uv pip install --quiet --python .venv/bin/python "
    "--require-hashes --only-binary :all: -r requirements.lock"
)


@pytest.fixture
def dev(tmp_path: Path) -> DevFolder:
    folder = DevFolder(tmp_path)
    folder.python("python3")
    return folder


def test_a_first_start_makes_the_environment_and_runs_the_command(dev: DevFolder) -> None:
    done = dev.run("manage", "jobs", "list")
    assert (done.returncode, done.stdout) == (0, "manage jobs list\n")
    assert dev.calls() == [f"venv by {dev.bin / 'python3'}", "pip installs uv", INSTALL]


def test_uv_itself_comes_from_the_lock(dev: DevFolder) -> None:
    dev.run("manage")
    assert (dev.folder / ".venv" / "uv.lock").read_text() == "uv==1 \\\n    --hash=sha256:00\n"


def test_the_next_start_installs_nothing(dev: DevFolder) -> None:
    dev.run("manage")
    dev.calls()
    assert dev.run("manage").returncode == 0
    assert dev.calls() == []


def test_a_changed_lock_is_installed(dev: DevFolder) -> None:
    dev.run("manage")
    dev.calls()
    dev.write("requirements.lock", "uv==1 \\\n    --hash=sha256:00\ny==2 \\\n    --hash=sha256:02\n")
    assert dev.run("manage").returncode == 0
    assert dev.calls() == [INSTALL]


def test_a_failed_installation_says_so_and_is_gone_on_with(dev: DevFolder) -> None:
    failed = dev.run("manage", UV_FAILS="1", PIP_FAILS="1")
    assert failed.returncode == 3
    assert failed.stdout == ""
    assert "run the same command again" in failed.stderr
    dev.calls()
    assert dev.run("manage").returncode == 0
    assert dev.calls() == [INSTALL]


def test_a_half_made_environment_is_made_anew(dev: DevFolder) -> None:
    dev.run("manage")
    (dev.folder / ".venv" / ".unfinished").touch()
    (dev.folder / ".venv" / ".installed").unlink()
    dev.calls()
    assert dev.run("manage").returncode == 0
    assert dev.calls()[0].startswith("venv by")
    assert not (dev.folder / ".venv" / ".unfinished").exists()


def test_an_environment_whose_python_is_gone_is_made_anew(dev: DevFolder) -> None:
    dev.run("manage")
    (dev.folder / ".venv" / "bin" / "python").unlink()
    dev.calls()
    assert dev.run("manage").returncode == 0
    assert dev.calls()[0].startswith("venv by")


def test_without_uv_pip_installs_the_same_lock_by_hash(dev: DevFolder) -> None:
    done = dev.run("manage", NO_UV="1")
    assert done.returncode == 0
    assert "pip does it" in done.stderr
    last = dev.calls()[-1]
    assert last.startswith("pip -m pip install")
    assert last.endswith("--require-hashes --only-binary :all: -r requirements.lock")


def test_where_uv_fails_pip_installs_the_same_lock_by_hash(dev: DevFolder) -> None:
    """An index or a certificate that only pip's own configuration names."""
    done = dev.run("manage", UV_FAILS="1")
    assert done.returncode == 0
    assert "pip tries" in done.stderr
    uv, pip = dev.calls()[-2:]
    assert uv == INSTALL
    assert pip.endswith("--require-hashes --only-binary :all: -r requirements.lock")


def test_uv_trusts_the_certificates_of_the_system(dev: DevFolder) -> None:
    dev.run("manage")
    assert (dev.folder / "certificates").read_text() == "true\n"


def test_a_missing_lock_is_told_in_one_line(dev: DevFolder) -> None:
    (dev.folder / "requirements.lock").unlink()
    done = dev.run("manage")
    assert done.returncode == 2
    assert done.stderr == "requirements.lock is missing: restore it with 'git checkout requirements.lock'\n"


def test_two_at_once_install_once(dev: DevFolder) -> None:
    fifo = dev.make_fifo()
    first = dev.start("manage", "first", UV_WAITS_FOR=str(fifo))
    with fifo.open("w"):  # opens when the first one's installer reads it
        second = dev.start("manage", "second")
        assert second.stderr is not None
        assert second.stderr.readline() == "waiting for another ./dev to finish its installation\n"
    assert first.communicate(timeout=60)[0] == "manage first\n"
    assert second.communicate(timeout=60)[0] == "manage second\n"
    assert dev.calls().count(INSTALL) == 1


def test_what_another_project_has_set_does_not_reach_the_command(dev: DevFolder) -> None:
    dev.write(
        "manage.py",
        "import os\n"
        "names = ('DJANGO_SETTINGS_MODULE', 'PYTHONPATH', 'PYTHONTZPATH')\n"
        "print([os.environ.get(name) for name in names])\n",
    )
    done = dev.run(
        "manage", DJANGO_SETTINGS_MODULE="elsewhere", PYTHONPATH="/elsewhere", PYTHONTZPATH="/zones"
    )
    assert done.stdout == "[None, None, '']\n"
