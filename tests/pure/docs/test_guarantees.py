"""docs/guarantees.md: every guarantee names tests that exist."""

import ast
import re

from tests.pure.docs.pages import ROOT, page

NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
ROWS = [
    line
    for line in page("guarantees.md").splitlines()
    if line.startswith("| ") and not line.startswith(("| Elsewhere", "| ---"))
]


def names_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}


def test_every_named_test_exists():
    named = NAMED.findall(page("guarantees.md"))
    missing = {f"{path}::{name}" for path, name in named if name not in names_in(path)}
    assert missing == set()
    assert all(name.startswith("test_") for _, name in named)


def test_every_guarantee_names_a_test():
    assert len(ROWS) > 40
    assert [row for row in ROWS if not NAMED.search(row.rsplit("|", 2)[1])] == []
