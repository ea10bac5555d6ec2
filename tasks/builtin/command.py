"""``system.command``: run an allow-listed management command in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from django.core.management import get_commands
from pydantic import Field

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.errors import did_you_mean
from tasks.context import JobContext
from tasks.handlers import job
from tasks.json_values import clean_text
from tasks.outcomes import Fail, Outcome

HEAD_BYTES = 16 * 1024
TAIL_BYTES = 48 * 1024
ERROR_CHARACTERS = 1_000
STOP_SECONDS = 5.0
WAIT_SECONDS = 0.25
MAX_TIMEOUT_SECONDS = 86_400
_CHILD = Path(__file__).with_name("command_child.py")
# They load code from a place of the caller's choice.
_CODE_OPTIONS = ("--settings", "--pythonpath")


@job(
    "system.command",
    description="Run an allowed management command and keep its output.",
    public_params=("command", "timeout_seconds"),
    timeout=MAX_TIMEOUT_SECONDS + 60,
    max_attempts=1,
    on_interrupt="cancel",
)
def run_command(
    context: JobContext,
    command: str,
    arguments: list[str] | None = None,
    timeout_seconds: Annotated[int, Field(ge=1, le=MAX_TIMEOUT_SECONDS)] = 3600,
) -> Outcome:
    """Run ``manage.py command arguments…``; the result is its exit code and output (first 16, last 48 KiB).

    Raises ``Fail`` with the end of the output when it exits with another code than 0 or takes longer than
    ``timeout_seconds``; never retried when the command or an argument is not allowed
    (TASKS__ALLOWED_COMMANDS). Not run again by itself: only its author knows whether that is harmless.
    """
    words = checked(command, arguments or [])
    started = clock.monotonic()
    process = subprocess.Popen(
        [sys.executable, str(_CHILD), json.dumps(sys.path), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    output = Output()
    try:
        in_time = _follow(context, process, output, started + timeout_seconds)
        code = process.wait() if in_time else None
    finally:
        _stop(process)
    text = output.text()
    if code is None:
        raise Fail(f"{command} took longer than {timeout_seconds} s and was stopped. {_end(text)}".strip())
    if code != 0:
        raise Fail(f"{command} ended with exit code {code}. {_end(text)}".strip())
    elapsed = round((clock.monotonic() - started) * 1000)
    return Outcome(
        {"exit_code": 0, "output": text, "output_bytes": output.total, "elapsed_ms": elapsed},
        count=0,
        extra={"command": command},
    )


def checked(command: str, arguments: Sequence[str]) -> list[str]:
    """The words to run. Raises ``Fail`` (never retried) for a command or argument that is not allowed."""
    allowed = config.get().tasks.allowed_commands
    if command not in allowed:
        hint = did_you_mean(command, allowed)
        raise Fail(f"{command!r} is not allowed: TASKS__ALLOWED_COMMANDS does not name it.{hint}", False)
    if command not in get_commands():
        raise Fail(
            f"There is no management command {command!r}.{did_you_mean(command, get_commands())}", False
        )
    for argument in arguments:
        name = argument.partition("=")[0]
        # Django's parser takes abbreviations.
        if len(name) > 2 and any(option.startswith(name) for option in _CODE_OPTIONS):
            raise Fail(f"arguments: {name} is not allowed; it chooses what code is loaded.", False)
        if "\x00" in argument:
            raise Fail("arguments: a NUL character cannot be part of an argument.", False)
    return [command, *arguments]


class Output:
    """What a process wrote: the first and the last bytes of it."""

    def __init__(self) -> None:
        self.total = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, part: bytes) -> None:
        self.total += len(part)
        room = HEAD_BYTES - len(self._head)
        self._head += part[:room]
        self._tail += part[room:]
        del self._tail[:-TAIL_BYTES]

    def text(self) -> str:
        missing = self.total - len(self._head) - len(self._tail)
        gap = f"\n… {missing} bytes left out …\n".encode() if missing else b""
        whole = bytes(self._head) + gap + bytes(self._tail)
        return clean_text(whole.decode("utf-8", "replace"), 2 * (HEAD_BYTES + TAIL_BYTES))


def _follow(context: JobContext, process: subprocess.Popen[bytes], output: Output, until: float) -> bool:
    """Take in the output until it ends; False when the time is over first."""
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    while True:
        context.check_cancel()
        if clock.monotonic() >= until:
            return False
        if not select.select([pipe], [], [], WAIT_SECONDS)[0]:
            if process.poll() is not None:
                return True  # a grandchild keeps the pipe open; the command itself has ended
            continue
        part = os.read(pipe, 65_536)
        if not part:
            return True
        output.add(part)
        line = clean_text(part.decode("utf-8", "replace").strip().rpartition("\n")[2], 120)
        if line:
            context.progress(None, None, line)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the command and whatever it started, gently first."""
    if process.poll() is None:
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
    _signal(process, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    # Its own session is its process group; what is left of the group dies with it.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _end(text: str) -> str:
    return f"Its output ended with: {text[-ERROR_CHARACTERS:].strip()}" if text.strip() else ""
