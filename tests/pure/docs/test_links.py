"""Every link leads somewhere, and every page is reached."""

import re
from pathlib import Path

import pytest

from tests.pure.docs.pages import DOCS, PAGES, ROOT, anchors, prose


def links(path: Path) -> list[str]:
    return re.findall(r"\[[^\]]+\]\(([^)\s]+)\)", prose(path.read_text()))


def leads_nowhere(path: Path, link: str) -> str:
    """Why a link leads nowhere; empty when it does not."""
    if re.match(r"[a-z]+:", link):
        return ""
    place, _, anchor = link.partition("#")
    target = (path.parent / place).resolve() if place else path
    if not target.exists():
        return f"no file {place}"
    if not target.is_relative_to(ROOT):
        return f"{place} is outside the project"
    if anchor and anchor not in anchors(target.read_text()):
        return f"no heading {anchor} in {target.name}"
    return ""


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_link_leads_somewhere(path):
    wrong = {link: why for link in links(path) if (why := leads_nowhere(path, link))}
    assert wrong == {}


@pytest.mark.parametrize("start", ["README.md", "docs/README.md"])
def test_every_page_is_linked_from(start):
    path = ROOT / start
    reached = {(path.parent / link.partition("#")[0]).resolve() for link in links(path)} | {path}
    assert set(DOCS.glob("*.md")) - reached - {DOCS / "README.md"} == set()


def test_a_dead_link_is_found():
    assert leads_nowhere(DOCS / "cli.md", "settings.md#databases") == ""
    assert leads_nowhere(DOCS / "cli.md", "settings.md#no-such-heading")
    assert leads_nowhere(DOCS / "cli.md", "no-such-page.md")
