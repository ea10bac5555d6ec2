"""The JavaScript SDK's folder, with exactly the packages of its lock installed: once, whichever tests ask first."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.pure.docs.pages import ROOT

SDK = ROOT / "sdk" / "js"
PATIENCE_SECONDS = 300
_INSTALLED = SDK / "node_modules" / ".installed-lock"


def sdk() -> Path:
    """Its folder. Skips the test without Node, and fails it in a CI run."""
    if not (shutil.which("node") and shutil.which("npm")):
        if os.environ.get("CI"):
            pytest.fail("no node and npm on the PATH, and a CI run must have them")
        pytest.skip("no node and npm on the PATH")
    # Two parts of the suite may come here at once, each in a process of its own.
    with (Path(tempfile.gettempdir()) / f"javascript-sdk-{os.getuid()}.lock").open("w") as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        lock = (SDK / "package-lock.json").read_bytes()
        if not _INSTALLED.exists() or _INSTALLED.read_bytes() != lock:
            npm("ci", "--ignore-scripts", "--prefer-offline")
            _INSTALLED.write_bytes(lock)
    return SDK


def npm(*arguments: str) -> str:
    """Runs it there and returns what it said. Fails the test when it fails."""
    return _run("npm", *arguments)


def node(*arguments: str) -> str:
    """The same for Node itself: what it printed."""
    return _run("node", *arguments)


def _run(*command: str) -> str:
    done = subprocess.run(
        command,
        check=False,
        cwd=SDK,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        env={**os.environ, "NO_COLOR": "1", "CI": "true"},
    )
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"
    return done.stdout
