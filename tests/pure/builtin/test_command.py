"""system.command: a real process, its output, its exit code, and its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobsplatform.kernel import config
from jobsplatform.kernel.loop import wait_until
from tasks.builtin import command as module
from tasks.builtin.command import HEAD_BYTES, TAIL_BYTES, Output, checked, run_command
from tasks.outcomes import Fail, JobCancelled
from tests.pure.builtin.fakes import FakePort, run


@pytest.fixture(autouse=True)
def shell_is_allowed() -> Iterator[None]:
    with config.override(tasks={"allowed_commands": ["shell", "missing_command"]}):
        yield


def shell(code: str, port: FakePort | None = None, timeout_seconds: int = 60) -> dict[str, object]:
    arguments = ["--no-imports", "-c", code] if "--no-imports" in SHELL_OPTIONS else ["-c", code]
    result: dict[str, object] = run(
        run_command, port, command="shell", arguments=arguments, timeout_seconds=timeout_seconds
    ).result
    return result


SHELL_OPTIONS = subprocess.run(
    [sys.executable, "-m", "django", "shell", "--help"], capture_output=True, text=True, check=True
).stdout


def test_output_and_exit_code_are_kept() -> None:
    result = shell("import sys; print('to stdout'); print('to stderr', file=sys.stderr)")
    assert result["exit_code"] == 0
    assert "to stdout" in str(result["output"]) and "to stderr" in str(result["output"])


def test_another_exit_code_fails_with_the_end_of_the_output() -> None:
    with pytest.raises(Fail, match="shell ended with exit code 7.*ended with: before the end"):
        shell("import sys; print('before the end', flush=True); sys.exit(7)")


def test_it_reads_nothing_from_a_terminal() -> None:
    assert "''" in str(shell("import sys; print(repr(sys.stdin.read()))")["output"])


def test_a_command_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    with pytest.raises(Fail, match="longer than 3 s"):
        shell(code, timeout_seconds=3)
    assert not pid.exists() or not is_alive(int(pid.read_text()))


def test_a_cancel_stops_the_command_and_what_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = (
        "import os, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "time.sleep(600)"
    )

    class StopOnceStarted(FakePort):
        def cancel_reason(self) -> object:  # type: ignore[override]
            self.stop_at = 1 if pids.exists() and len(pids.read_text().split()) == 2 else 0
            return super().cancel_reason()

    with pytest.raises(JobCancelled):
        shell(code, StopOnceStarted())
    for pid in pids.read_text().split():
        wait_until(lambda pid=pid: not is_alive(int(pid)), timeout=10)  # type: ignore[misc]


def test_the_command_dies_with_a_killed_worker(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = f"import os, time; open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    worker = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import json, subprocess, sys, time\n"
            f"p = subprocess.Popen([sys.executable, {str(module._CHILD)!r}, json.dumps(sys.path), 'shell', '-c', "
            f"{code!r}], stdin=subprocess.PIPE)\ntime.sleep(600)",
        ],
        cwd=Path(__file__).parents[3],
        start_new_session=True,
    )
    try:
        wait_until(lambda: pid_file.exists() and bool(pid_file.read_text()), timeout=60)
        pid = int(pid_file.read_text())
        assert is_alive(pid)
    finally:
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
    wait_until(lambda: not is_alive(pid), timeout=10)


@pytest.mark.parametrize(
    ("command", "arguments", "why"),
    [
        ("flush", [], "TASKS__ALLOWED_COMMANDS"),
        ("shel", [], "Did you mean 'shell'"),
        ("missing_command", [], "no management command"),
        ("shell", ["--settings=evil"], "--settings is not allowed"),
        ("shell", ["--pythonpath", "/tmp"], "--pythonpath is not allowed"),
        ("shell", ["--sett=evil"], "--sett is not allowed"),
        ("shell", ["--py", "/tmp"], "--py is not allowed"),
        ("shell", ["a\x00b"], "NUL"),
    ],
)
def test_what_is_not_allowed_is_not_started(command: str, arguments: list[str], why: str) -> None:
    with pytest.raises(Fail, match=why) as failure:
        checked(command, arguments)
    assert failure.value.retryable is False


def test_arguments_reach_the_command_as_they_are() -> None:
    assert checked("shell", ["-c", "--", "*; rm", "$HOME"]) == ["shell", "-c", "--", "*; rm", "$HOME"]


def test_long_output_keeps_its_beginning_and_end() -> None:
    output = Output()
    output.add(b"first\n")
    for _ in range(100):
        output.add(b"x" * 10_000)
    output.add(b"\nlast")
    text = output.text()
    assert text.startswith("first\n") and text.endswith("\nlast") and "bytes left out" in text
    assert len(text) <= HEAD_BYTES + TAIL_BYTES + 100
    assert output.total == 1_000_011


def test_output_that_is_no_text_is_stored_all_the_same() -> None:
    output = Output()
    output.add(b"\xff\x00\xed\xa0\x80")
    assert output.text().encode()
    assert "\x00" not in output.text()


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        pass
    except ProcessLookupError:
        return False
    if os.path.isdir("/proc/self"):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
