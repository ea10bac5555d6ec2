"""The React hooks against the real server: on the demo page, and in React's strict mode."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F
from playwright.sync_api import Locator, Page, WebSocketRoute, expect

from jobsplatform.kernel import clock
from jobsplatform.testing.platform import HandPlatform, Worker
from tasks.models import Job
from tasks.states import State
from tests import javascript
from tests.browser.conftest import Visit
from tests.browser.rows import make_job
from tests.pure.docs.pages import blocks
from tests.pure.docs.pages import page as docs_page

pytestmark = pytest.mark.django_db(transaction=True)
FOLDERS = ("docs", "music", "photos")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Three folders at the top, each with three below it; two files in every one of these."""
    for top in FOLDERS:
        for below in ("a", "b", "c"):
            folder = tmp_path / "share" / top / below
            folder.mkdir(parents=True)
            for name in ("one.txt", "two.txt"):
                (folder / name).write_text(f"{top} {below} {name}")
    return tmp_path / "share"


@pytest.fixture
def worker(visit: Visit) -> Iterator[Worker]:
    """A worker that runs what the test tells it to run, on the machine's own clock."""
    with HandPlatform(clock.current()).registered() as platform:  # type: ignore[arg-type]
        yield platform.add_worker(concurrency=100)


def start(visit: Visit, root: Path) -> tuple[Page, Job]:
    page = visit.open("/demo/")
    expect(status(page)).to_have_text("live")
    page.get_by_label("A folder").fill(str(root))
    page.get_by_role("button", name="Start a scan").click()
    expect(page.get_by_role("heading", name=str(root))).to_be_visible()
    return page, Job.objects.get(job_type="files.scan")


def status(page: Page) -> Locator:
    return page.get_by_role("status").locator(".badge")


def badge(page: Page) -> Locator:
    return page.get_by_label("Scan", exact=True).locator(".badge")


def folder(page: Page, name: str) -> Locator:
    return page.locator(f'li[data-folder="{name}"]')


def run_children(worker: Worker, top: str = "", most: int = 100) -> None:
    """Run those of a folder at the top, at most ``most``."""
    worker.dispatch()
    for sent in list(worker.sent):
        child = Job.objects.get(id=sent.job_id)
        if most and child.job_type == "files.scan_folder" and child.params["folders"][0].startswith(top):
            worker.run(sent)
            most -= 1


def finish(worker: Worker) -> None:
    while worker.work():
        pass


def test_a_scan_is_followed_folder_by_folder(visit: Visit, worker: Worker, tree: Path) -> None:
    page, job = start(visit, tree)
    expect(badge(page)).to_have_text("pending")
    worker.dispatch()
    worker.run()
    expect(badge(page)).to_have_text("scanning")
    for name in FOLDERS:
        expect(folder(page, name)).to_contain_text("0 of 3")
    run_children(worker, "music", 2)
    expect(folder(page, "music")).to_contain_text("2 of 3")
    expect(folder(page, "docs")).to_contain_text("0 of 3")
    run_children(worker, "music")
    expect(folder(page, "music")).to_have_attribute("data-active", "false")
    expect(page.get_by_text("finished: music")).to_be_visible()
    expect(page.get_by_label("The whole scan")).to_have_js_property("value", 33.3)
    finish(worker)
    expect(badge(page)).to_have_text("completed")
    expect(page.get_by_text("18 files")).to_be_visible()
    expect(page.get_by_label("Activity")).to_contain_text(f"…{str(job.id)[-6:]} completed")
    assert visit.overflow() <= 0


def test_with_one_frame_in_ten_dropped_the_page_is_right(visit: Visit, worker: Worker, tree: Path) -> None:
    page, _ = start(visit, tree)
    page.get_by_label("Drop 10 %").check()
    finish(worker)
    expect(badge(page)).to_have_text("completed")
    for name in FOLDERS:
        expect(folder(page, name)).to_contain_text("3 of 3")


def test_a_lost_connection_is_shown_and_heals(visit: Visit, worker: Worker, tree: Path) -> None:
    sockets: list[WebSocketRoute] = []
    let = [True]

    def routed(socket: WebSocketRoute) -> None:
        if let[0]:
            socket.connect_to_server()
            sockets.append(socket)
        else:
            socket.close(code=1012)

    visit.page.route_web_socket("**/live/ws", routed)
    visit.page.route("**/live/poll*", lambda route: route.continue_() if let[0] else route.abort())
    page, _ = start(visit, tree)
    let[0] = False
    sockets[-1].close(code=1012)
    expect(status(page)).to_have_text("connection lost")
    finish(worker)
    expect(badge(page)).to_have_text("pending")
    let[0] = True
    page.get_by_role("button", name="Reconnect").click()
    expect(status(page)).to_have_text("live")
    expect(badge(page)).to_have_text("completed")
    visit.faults[:] = [fault for fault in visit.faults if "ERR_FAILED" not in fault]


def test_without_any_websocket_it_polls(visit: Visit, worker: Worker, tree: Path) -> None:
    visit.page.route_web_socket("**/live/ws", lambda socket: socket.close(code=1011))
    page = visit.open("/demo/")
    expect(status(page)).to_have_text("polling", timeout=10_000)
    page.get_by_label("A folder").fill(str(tree))
    page.get_by_role("button", name="Start a scan").click()
    expect(badge(page)).to_have_text("pending", timeout=10_000)
    finish(worker)
    expect(badge(page)).to_have_text("completed", timeout=10_000)
    expect(folder(page, "docs")).to_contain_text("3 of 3")
    expect(page.get_by_label("Activity")).to_contain_text("completed")


def test_a_folder_that_is_no_path_is_refused(visit: Visit) -> None:
    page = visit.open("/demo/")
    page.get_by_label("A folder").fill("share")
    page.get_by_role("button", name="Start a scan").click()
    expect(page.get_by_role("alert")).to_contain_text("expected the absolute path of a folder")
    visit.faults[:] = [fault for fault in visit.faults if "400" not in fault]


@pytest.mark.parametrize(
    "visit",
    [
        {"viewport": {"width": 360, "height": 780}, "color_scheme": "dark"},
        {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    ],
    indirect=True,
    ids=["phone in the dark", "desktop"],
)
def test_it_fits_its_window_and_follows_the_colour_scheme(
    visit: Visit, worker: Worker, tree: Path, request: pytest.FixtureRequest
) -> None:
    long = tree / ("a-very-long-name-" * 10) / "x"
    long.mkdir(parents=True)
    (long / "one.txt").write_text("1")
    page, _ = start(visit, tree)
    worker.dispatch()
    worker.run()
    expect(folder(page, "docs")).to_be_visible()
    if shots := os.environ.get("JP_SHOTS"):
        page.screenshot(path=Path(shots) / f"demo-{request.node.callspec.id}.png", full_page=True)
    assert visit.overflow() <= 0
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    darkness = sum(int(part) for part in ground.removeprefix("rgb(").removesuffix(")").split(","))
    assert (darkness < 200) is ("dark" in request.node.callspec.id)


def test_the_example_for_a_plain_page_works(visit: Visit, worker: Worker, tree: Path) -> None:
    visit.page.route("**/sdk/demo.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    page = visit.open("/demo/")
    (example,) = blocks(docs_page("javascript.md"), "html")
    page.set_content(example)
    expect(page.locator("#status")).to_have_text("live")
    job_id = worker._platform.submit("files.scan", {"root": str(tree)})
    expect(page.locator("#jobs li")).to_have_text([f"{job_id}: pending, 0 %"])
    finish(worker)
    expect(page.locator("#jobs li")).to_have_text([f"{job_id}: completed, 100 %"])


WATCH = """
import { LiveClient } from "/static/tasks/sdk/live.js";
const live = new LiveClient({ dropFrames: 0.1 });
window.shown = {};
live.onStatus(({ status }) => (window.status = status));
live.subscribe("jobs", {
    limit: 200,
    onState({ jobs }) {
        const lines = [...jobs].map(([id, { job }]) => [id, `${job.status} ${job.progress.done}`]);
        window.shown = Object.fromEntries(lines);
    },
});
"""


def test_two_pages_that_lose_frames_equal_the_database_after_a_storm_of_progress(visit: Visit) -> None:
    jobs = [make_job(State.RUNNING, progress_done=0, progress_total=1000) for _ in range(50)]
    pages = [visit.page, visit.page.context.new_page()]
    for page in pages:
        page.route("**/sdk/demo.js", lambda route: route.fulfill(body=WATCH, content_type="text/javascript"))
        page.goto(f"{visit.site}/demo/")
        page.wait_for_function("Object.keys(window.shown ?? {}).length === 50")
    for step in range(1, 21):
        for job in jobs[step % 2 :: 2]:
            changed = {"progress_done": step, "progress_at": clock.now(), "updated_at": clock.now()}
            Job.objects.filter(id=job.id).update(revision=F("revision") + 1, **changed)
    truth = {str(job.id): f"running {int(job.progress_done)}" for job in Job.objects.all()}
    assert len({*truth.values()}) == 2
    for page in pages:
        page.wait_for_function(
            "truth => Object.entries(truth).every(([id, text]) => window.shown[id] === text)", arg=truth
        )
        assert page.evaluate("window.status") == "live"


# -- strict mode: React's development build, which mounts everything twice ---------------------------------------


@pytest.fixture(scope="module")
def probe() -> str:
    """A page's script that uses each hook in strict mode, and notes what it hears."""
    javascript.sdk()
    return javascript.node("scripts/bundle-probe.mjs")


@pytest.fixture
def heard(visit: Visit, probe: str) -> Callable[[], dict[str, Any]]:
    """What the hooks say now."""
    # The demo's own page, without its own script.
    visit.page.route("**/sdk/demo.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    visit.open("/demo/")
    visit.page.add_script_tag(content=probe, type="module")
    visit.page.wait_for_function("window.heard?.status === 'live'")
    return lambda: dict(visit.page.evaluate("window.heard"))


def test_in_strict_mode_each_hook_says_everything_once(
    visit: Visit, worker: Worker, tree: Path, heard: Callable[[], dict[str, Any]]
) -> None:
    page = visit.page
    platform = worker._platform
    job_id = str(platform.submit("files.scan", {"root": str(tree)}))
    page.evaluate("id => window.watch(id)", job_id)
    page.wait_for_function("window.heard.job?.status === 'pending'")
    worker.dispatch()
    worker.run()
    page.wait_for_function("window.heard.progress.docs?.total === 3")
    assert {name: each["isActive"] for name, each in heard()["progress"].items()} == dict.fromkeys(
        FOLDERS, True
    )
    finish(worker)
    page.wait_for_function("window.heard.job?.status === 'completed' && window.heard.ended.length > 0")
    page.wait_for_function("window.heard.settled.length === 3")
    found = heard()
    # Its continuation is a run of its own.
    assert set(found["started"]) == set(found["ended"]) == {job_id}
    assert sorted(found["settled"]) == sorted(FOLDERS)
    assert len(set(found["events"])) == len(found["events"]), "an event was heard twice"
    rows = dict(Job.objects.filter(parent_id=job_id).values_list("id", "revision"))
    assert {f"{key}@{revision}" for key, revision in rows.items()} <= set(found["events"])
    for name in FOLDERS:
        assert found["progress"][name] == {
            "isActive": False, "total": 3, "completed": 3, "running": 0, "pending": 0, "failed": 0, "cancelled": 0,
            "pct": 100,
        }  # fmt: skip
    assert Job.objects.get(id=job_id).state == State.COMPLETED


def test_a_page_that_leaves_ends_its_subscriptions(visit: Visit, heard: Callable[[], dict[str, Any]]) -> None:
    sent: list[str] = heard()["sent"]
    assert sorted(sent) == sorted({*sent}), "a topic was subscribed to twice"
    visit.page.evaluate("window.leave()")
    visit.page.wait_for_function("window.heard.left.length === window.heard.sent.length")
