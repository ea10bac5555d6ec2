"""The commands that are proposed can be typed where one is."""

import os
import sys
from pathlib import Path

from tasks.cli import base


def test_the_active_python_is_called_by_its_name(monkeypatch):
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert base._python() == "python"


def test_another_one_is_called_by_its_path(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(Path(sys.executable).parents[1])
    assert base._python() == os.path.join("bin", Path(sys.executable).name)
    monkeypatch.chdir(tmp_path)
    assert base._python() == sys.executable
