"""The code in docs/handlers.md does what the page says."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from jobsplatform.testing.platform import HandPlatform
from tasks import registry
from tasks.states import State

PAGE = Path(__file__).parents[3] / "docs" / "handlers.md"


def run_page() -> ModuleType:
    """Every block, in order, in one module."""
    module = ModuleType("handlers_page")
    sys.modules[module.__name__] = module
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 5
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), module.__dict__)
    return module


@pytest.fixture
def page(jobs_inline: None) -> ModuleType:
    with registry.preserved():
        yield run_page()  # type: ignore[misc]


def test_the_examples_run_and_their_assertions_hold(page: ModuleType) -> None:
    assert page.send_invoices.spec.description == "Send the invoices of a month."


def test_the_family_of_the_page_adds_up(page: ModuleType, jobs: HandPlatform) -> None:
    parent = jobs.submit("shops.count", {"shops": ["a", "bb", "ccc"]})
    jobs.drain()
    ended = jobs.job(parent)
    assert (ended.state, ended.result) == (State.COMPLETED, 6)


def test_every_option_of_the_decorator_is_on_the_page() -> None:
    from tasks.handlers import job

    text = PAGE.read_text()
    names = set(job.__kwdefaults__) - {"app_id"}
    assert {name for name in names if f"`{name}`" not in text and f"{name}=" not in text} == set()
