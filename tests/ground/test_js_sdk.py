"""The JavaScript SDK: its types, its own tests, and that what the platform ships is a fresh build of it.

Needs Node; without it these are skipped, but never in a CI run.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import javascript
from tests.javascript import PATIENCE_SECONDS, npm
from tests.pure.docs.pages import ROOT, blocks, page

SHIPPED = ROOT / "tasks" / "static" / "tasks" / "sdk"


@pytest.fixture(scope="module")
def sdk() -> Path:
    return javascript.sdk()


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
