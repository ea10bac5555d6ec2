"""The JavaScript SDK: its types, its own tests, and that what the platform ships is a fresh build of it.

Needs Node; without it these are skipped, but never in a CI run.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.pure.docs.pages import ROOT, blocks, page

SDK = ROOT / "sdk" / "js"
SHIPPED = ROOT / "tasks" / "static" / "tasks" / "sdk"
PATIENCE_SECONDS = 300
INSTALLED = SDK / "node_modules" / ".installed-lock"


def npm(*arguments: str) -> str:
    """Runs it in the SDK's folder and returns what it said. Fails the test when it fails."""
    done = subprocess.run(
        ["npm", *arguments],
        check=False,
        cwd=SDK,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        env={**os.environ, "NO_COLOR": "1", "CI": "true"},
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, f"npm {' '.join(arguments)}:\n{said}"
    return said


@pytest.fixture(scope="module")
def sdk() -> Path:
    """The SDK's folder, with exactly the packages of its lock installed."""
    if not (shutil.which("node") and shutil.which("npm")):
        if os.environ.get("CI"):
            pytest.fail("no node and npm on the PATH, and a CI run must have them")
        pytest.skip("no node and npm on the PATH")
    lock = (SDK / "package-lock.json").read_bytes()
    if not INSTALLED.exists() or INSTALLED.read_bytes() != lock:
        npm("ci", "--ignore-scripts", "--prefer-offline")
        INSTALLED.write_bytes(lock)
    return SDK


def test_types_hold_and_what_is_shipped_is_a_fresh_build(sdk: Path) -> None:
    npm("run", "check")


def test_a_shipped_file_that_was_edited_is_found(sdk: Path, tmp_path: Path) -> None:
    shutil.copytree(SHIPPED, tmp_path / "sdk")
    shipped = tmp_path / "sdk" / "live.js"
    shipped.write_text(shipped.read_text() + "// edited by hand\n")
    command = ["node", "scripts/build.mjs", "--check", f"--shipped={tmp_path / 'sdk'}"]
    found = subprocess.run(
        command, check=False, cwd=sdk, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    assert found.returncode == 1
    assert "live.js is not a fresh build" in found.stderr
    assert "demo.js" not in found.stderr


def test_the_examples_of_the_page_about_it_hold(sdk: Path) -> None:
    """Each in a file of its own, by the types of the SDK itself."""
    folder = sdk / "dist" / "examples"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    found = [*blocks(page("javascript.md"), "ts"), *blocks(page("javascript.md"), "tsx")]
    assert len(found) >= 4
    for number, block in enumerate(found):
        (folder / f"example{number}.tsx").write_text(block + "export {};\n")
    settings = {
        "extends": "../../tsconfig.json",
        "compilerOptions": {"noUnusedLocals": False},
        "include": ["."],
    }
    (folder / "tsconfig.json").write_text(json.dumps(settings))
    npm("exec", "--", "tsc", "-p", "dist/examples")


def test_its_own_tests_pass(sdk: Path) -> None:
    said = npm("test")
    assert "Test Files" in said
