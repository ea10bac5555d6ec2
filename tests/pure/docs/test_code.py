"""Python in the documentation compiles, and what it imports from the platform is there."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.pure.docs.pages import PAGES, blocks

PACKAGES = ("jobsplatform", "tasks")


def python_blocks() -> Iterator[tuple[str, str]]:
    for path in PAGES:
        yield from ((path.name, block) for block in blocks(path.read_text(), "python"))


def parsed(name: str, block: str) -> ast.Module:
    # `await` at the top of an example is fine; its reader has a coroutine around it.
    return compile(block, name, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Module and name of each import from the platform."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in PACKAGES:
            yield from ((node.module or "", alias.name) for alias in node.names)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_python_compiles_and_its_imports_exist(path: Path):
    for block in blocks(path.read_text(), "python"):
        for module, name in imported(parsed(path.name, block)):
            found = import_module(module)
            assert hasattr(found, name), f"{path.name}: from {module} import {name}"


def test_there_are_examples():
    names = [name for name, _ in python_blocks()]
    assert {"README.md", "handlers.md", "testing.md", "events.md"} <= set(names)
