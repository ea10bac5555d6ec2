"""An installed package has everything that the checkout has."""

import tomllib
from fnmatch import fnmatch

import pytest

from tests.pure.docs.pages import ROOT


@pytest.mark.parametrize("package", ["jobsplatform", "tasks"])
def test_every_file_that_is_no_python_is_packed(package):
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["*"]
    files = [
        path for path in (ROOT / package).rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")
    ]
    left_out = {path.name for path in files if not any(fnmatch(path.name, pattern) for pattern in declared)}
    assert left_out == set()
