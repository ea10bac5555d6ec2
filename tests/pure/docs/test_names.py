"""Paths and dotted names in the documentation exist."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from django.apps import apps

from tests.pure.docs.pages import PAGES, ROOT, spans

PACKAGES = ("jobsplatform", "scheduler", "tasks")
FOLDERS = (
    ROOT,
    ROOT / "tasks",
    ROOT / "jobsplatform",
    ROOT / "tasks" / "worker",
    ROOT / "tasks" / "sql",
    ROOT / "scheduler",
)


def paths_in(path: Path) -> set[str]:
    """What looks like a file or folder of this project."""
    return {
        span
        for span in spans(path.read_text())
        if re.fullmatch(
            r"[\w./-]+\.(py|md|yml|lock|toml)|(tasks|scheduler|jobsplatform|docs|tests|deploy)/[\w./-]*", span
        )
    } - EXAMPLES


EXAMPLES = {"jobs.py", "shop/jobs.py", "video/jobs.py", "manage.py"}
"""Files of the reader's own project (and manage.py, which every project has)."""


def dotted_in(path: Path) -> set[str]:
    """What looks like a name in one of the packages."""
    return {
        span.partition("(")[0]
        for span in spans(path.read_text())
        if re.fullmatch(rf"({'|'.join(PACKAGES)})(\.\w+)+(\(.*\))?", span)
    } - {span for span in spans(path.read_text()) if re.search(r"\.[EW](\d\d\d)?$", span)}


def exists(dotted: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            if not hasattr(found, name):
                return name in getattr(found, "__annotations__", ())
            found = getattr(found, name)
        return True
    return False


def permissions() -> set[str]:
    """Every permission, as ``app_label.codename``."""
    found = set()
    for model in apps.get_models():
        meta = model._meta
        names = [f"{action}_{meta.model_name}" for action in meta.default_permissions]
        names += [name for name, _ in meta.permissions]
        found |= {f"{meta.app_label}.{name}" for name in names}
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_path_exists(path):
    missing = {name for name in paths_in(path) if not any((folder / name).exists() for folder in FOLDERS)}
    assert missing == set()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_dotted_name_exists(path):
    assert {name for name in dotted_in(path) - permissions() if not exists(name)} == set()


def test_the_looks_find_something():
    internals = next(path for path in PAGES if path.name == "internals.md")
    assert len(paths_in(internals)) > 10
    assert not exists("tasks.no_such_module")
    assert not exists("tasks.states.NO_SUCH_NAME")
    assert exists("tasks.states.MOVES")
