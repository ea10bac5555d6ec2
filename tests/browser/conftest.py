"""A real web process on this test's database, and a real browser that looks at it."""

import contextlib
import os
import shutil
import socket
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Response, sync_playwright

from jobsplatform.kernel.loop import wait_until
from tests.conftest import url_of
from tests.flows.processes import Command

# Playwright keeps an event loop in this thread, and Django would refuse to ask the database beside one.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

CHROMIUM = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), "")
# Without the last ones it calls home at every start.
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PASSWORD = "correct horse battery"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        if os.environ.get("CI"):
            pytest.fail("no chromium on the PATH, and a CI run must have one")
        pytest.skip("no chromium on the PATH")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def site(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a web process on the test database."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "uvicorn", "jobsplatform.asgi:application", "--port", str(port)]
    environment = {**os.environ, "DATABASE_URL": url_of(connection.settings_dict)}
    web = Command(tmp_path_factory.mktemp("web") / "web.log", environment, command)

    def answers() -> bool:
        assert web.process.poll() is None, web.output
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"{address}/health/live", timeout=2) as answer,
        ):
            return bool(answer.status == 200)
        return False

    try:
        wait_until(answers, 60)
        yield address
    finally:
        web.kill()


@dataclass
class Visit:
    """One browser window, and everything that went wrong in it."""

    page: Page
    site: str
    faults: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        self.page.goto(self.site + path)
        return self.page

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return int(self.page.evaluate(wide))


@pytest.fixture
def visit(
    transactional_db: None, browser: Browser, site: str, request: pytest.FixtureRequest
) -> Iterator[Visit]:
    """A window of an operator who is logged in; the test fails if anything was wrong in its console."""
    options = getattr(request, "param", {})
    context: BrowserContext = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    visit = Visit(context.new_page(), site)
    listen(visit)
    log_in(visit)
    yield visit
    context.close()
    assert visit.faults == []


def listen(visit: Visit) -> None:
    """Note what a user would not see."""

    def console(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            visit.faults.append(f"{visit.page.url}: {message.text}")

    def answered(response: Response) -> None:
        if response.status >= 400:
            visit.faults.append(f"{response.status} {response.url}")

    visit.page.on("console", console)
    visit.page.on("pageerror", lambda error: visit.faults.append(f"{visit.page.url}: {error}"))
    visit.page.on("response", answered)


def log_in(visit: Visit) -> None:
    """As a superuser made for this test, by a session made beside the browser: the form has a test of its own."""
    client = Client()
    client.force_login(User.objects.create_superuser("ann", password=PASSWORD))
    cookie = client.cookies["sessionid"].value
    visit.page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": visit.site}])
