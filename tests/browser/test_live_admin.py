"""The admin follows what happens: the list and the page of jobs, and the dashboard, against a real process."""

import os
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.db.models import F
from playwright.sync_api import Locator, Page, WebSocketRoute, expect

from jobsplatform.kernel import clock
from jobsplatform.kernel.loop import wait_until
from tasks.models import Job
from tasks.states import FINAL, State
from tasks.submit import JobRequest, submit
from tests.browser.conftest import Visit
from tests.browser.rows import build_job, make_attempt, make_job
from tests.conftest import url_of
from tests.flows.processes import Worker

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "<img src=x onerror=alert(1)></script>"
JOBS = "/admin/tasks/job/"
MIB = 1024 * 1024


@pytest.fixture
def worker(visit: Visit, tmp_path: Path) -> Iterator[Worker]:
    """A worker process on the test's database; it ends before the database is emptied."""
    settings = {
        "TASKS__HEARTBEAT_SECONDS": "0.3",
        "TASKS__POLL_SECONDS": "0.3",
        "SCHEDULER__MAINTENANCE": "false",
    }
    environment = {**os.environ, "DATABASE_URL": url_of(connection.settings_dict), **settings}
    process = Worker(tmp_path / "worker.log", environment, ("-c", "2"), "jobsplatform")
    process.wait_ready()
    yield process
    process.kill()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Folders whose files take their time to be read and no place on the disk."""
    for number in range(8):
        folder = tmp_path / "share" / f"folder-{number}"
        folder.mkdir(parents=True)
        for name in range(24):
            with (folder / f"{name}.bin").open("wb") as file:
                file.truncate(96 * MIB)
    return tmp_path / "share"


def sign(page: Page) -> Locator:
    return page.locator(".jp-sign")


def opened(visit: Visit, path: str) -> Page:
    page = visit.open(path)
    expect(sign(page)).to_have_attribute("data-status", "live")
    return page


def row(page: Page, job: Job | UUID) -> Locator:
    job_id = job.id if isinstance(job, Job) else job
    return page.locator("#result_list tr.data-row", has=page.locator(f'[data-jp-id="{job_id}"]'))


def state(row: Locator) -> Locator:
    return row.locator(".field-status .jp-badge")


def write(job: Job, **columns: Any) -> None:
    """What a run writes, and no hint of it: the row alone is the truth."""
    Job.objects.filter(id=job.id).update(**columns, updated_at=clock.now(), revision=F("revision") + 1)


def looks_of(page: Page) -> list[str]:
    """The rows as they are drawn, without their age."""
    cells = "tr.data-row > :not(.field-age, .action-checkbox)"
    script = f"""[...document.querySelectorAll("#result_list {cells}")].map((cell) =>
        [cell.innerText, cell.querySelector("[title]")?.title, cell.querySelector("[class^=jp-badge]")?.className,
         cell.querySelector("progress")?.value, cell.querySelector("a")?.pathname].join("|"))"""
    return [str(one) for one in page.evaluate(script)]


def page_of(job: Job | UUID) -> str:
    return f"{JOBS}{job.id if isinstance(job, Job) else job}/change/"


# -- a real scan -------------------------------------------------------------------------------------


def test_a_real_scan_appears_moves_and_is_cancelled_from_its_page(
    visit: Visit, worker: Worker, tree: Path
) -> None:
    page = opened(visit, JOBS)
    expect(page.get_by_text("No results found")).to_be_visible()
    scan = submit(JobRequest("files.scan", {"root": str(tree)})).id
    expect(row(page, scan)).to_be_visible(timeout=20_000)
    expect(state(row(page, scan))).to_have_text("waiting", timeout=20_000)
    running = page.locator("#result_list tr.data-row", has_text="files.scan_folder").filter(
        has_text="running"
    )
    expect(running.first.locator("progress")).to_be_visible(timeout=20_000)
    part = UUID(running.first.locator("[data-jp-id]").get_attribute("data-jp-id") or "")
    bar = row(page, part).locator("progress")
    before = float(bar.get_attribute("value") or 0)
    wait_until(lambda: float(bar.get_attribute("value") or 0) > before, 30)
    expect(row(page, part).locator(".field-worker")).not_to_have_text("–")
    page = opened(visit, page_of(scan))
    expect(page.locator("#job-page").get_by_role("heading", name="Children")).to_be_visible()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Cancel with children").dblclick()
    expect(page.locator(".jp-headline .jp-badge").first).to_have_text("cancelled", timeout=20_000)
    expect(page.get_by_role("button", name="Retry")).to_be_visible()
    wait_until(lambda: not Job.objects.exclude(state__in=sorted(FINAL)).exists(), 30)
    assert Job.objects.get(id=scan).state == State.CANCELLED


# -- the list ----------------------------------------------------------------------------------------


def test_rows_come_and_move_in_place(visit: Visit) -> None:
    old = make_job(State.PENDING, "first")
    page = opened(visit, JOBS)
    new = make_job(State.RUNNING, HOSTILE[:60], progress_done=1, progress_total=4, progress_label=HOSTILE)
    expect(row(page, new)).to_be_visible()
    names = page.locator("#result_list .jp-what").all_inner_texts()
    assert names == [HOSTILE[:60], "first"]
    expect(row(page, new).locator("progress")).to_have_attribute("value", "25")
    expect(row(page, new).locator(".jp-progress")).to_have_attribute("title", f"1 of 4 – {HOSTILE}")
    expect(row(page, new).locator(".field-what a")).to_have_attribute("href", re.compile(str(new.id)))
    write(new, progress_done=3)
    expect(row(page, new).locator(".jp-percent")).to_have_text("75%")
    write(old, state=State.CANCELLED, reason=HOSTILE, finished_at=clock.now())
    expect(state(row(page, old))).to_have_text("cancelled")
    write(new, state=State.FAILED, error=HOSTILE, finished_at=clock.now(), cause="handler", worker_id=None)
    expect(state(row(page, new))).to_have_text("failed")
    assert page.locator("#result_list img").count() == 0
    expect(page.locator(".jp-count")).to_have_text("2 jobs")
    live = looks_of(page)
    page.reload()
    assert looks_of(page) == live, "drawn by the script as by the server"


def test_a_burst_of_changes_ends_in_what_is_so(visit: Visit) -> None:
    """Three hundred, faster than anybody could be told of each."""
    jobs = [make_job(State.RUNNING, f"burst.{n}", progress_done=0, progress_total=5) for n in range(30)]
    page = opened(visit, JOBS)
    expect(page.locator("#result_list tr.data-row")).to_have_count(30)
    for step in range(1, 10):
        for job in jobs:
            write(job, progress_done=step / 2)
    for job in jobs[:15]:
        write(job, state=State.COMPLETED, progress_done=5, finished_at=clock.now(), worker_id=None)
    for job in jobs[15:]:
        write(job, progress_done=2)
    so = {str(job.id): ["completed", 1] if n < 15 else ["running", 0.4] for n, job in enumerate(jobs)}
    script = """() => Object.fromEntries([...document.querySelectorAll("#result_list tr.data-row")].map((row) =>
        [row.querySelector("[data-jp-id]").dataset.jpId, [row.querySelector(".field-status .jp-badge").innerText,
         (bar => bar ? bar.value / bar.max : 1)(row.querySelector("progress"))]]))"""
    wait_until(lambda: page.evaluate(script) == so, 10)


def test_the_filters_of_the_page_hold(visit: Visit) -> None:
    kept = make_job(State.PENDING, "kept")
    page = opened(visit, f"{JOBS}?state=pending")
    other, fits = make_job(State.FAILED, "other"), make_job(State.PENDING, "fits")
    expect(row(page, fits)).to_be_visible()
    assert row(page, other).count() == 0
    write(kept, state=State.CANCELLED, finished_at=clock.now())
    expect(row(page, kept).locator(".jp-note")).to_have_text("no longer matches")
    write(kept, state=State.PENDING, finished_at=None)
    expect(row(page, kept).locator(".jp-note")).to_have_count(0)


def test_nothing_moves_under_a_selection(visit: Visit) -> None:
    first = make_job(State.PENDING, "first")
    page = opened(visit, JOBS)
    row(page, first).locator(".action-select").check()
    new = make_job(State.PENDING, "second")
    expect(page.locator(".jp-news")).to_have_text("1 new – show")
    assert row(page, new).count() == 0
    page.locator(".jp-news").press("Enter")
    expect(row(page, new)).to_be_visible()
    expect(page.locator(".jp-news")).to_be_hidden()
    assert row(page, first).locator(".action-select").is_checked()
    assert not row(page, new).locator(".action-select").is_checked()
    expect(row(page, new).locator(".action-select")).to_have_attribute("value", str(new.id))


def test_what_has_no_place_on_the_page_is_counted(visit: Visit) -> None:
    Job.objects.bulk_create(build_job(job_type=f"j{n}") for n in range(60))
    page = opened(visit, f"{JOBS}?p=2")
    make_job(State.PENDING, "newest")
    expect(page.locator(".jp-news")).to_have_text("1 new – reload")
    assert "newest" not in page.locator("#result_list .jp-what").all_inner_texts()


# -- the connection ----------------------------------------------------------------------------------


def interrupted(page: Page) -> tuple[list[WebSocketRoute], Callable[[bool], None]]:
    """A connection that can be taken away and let again."""
    sockets: list[WebSocketRoute] = []
    let = [True]

    def routed(socket: WebSocketRoute) -> None:
        if let[0]:
            socket.connect_to_server()
            sockets.append(socket)
        else:
            socket.close(code=1012)

    def switch(on: bool) -> None:
        let[0] = on
        if not on:
            sockets[-1].close(code=1012)

    page.route_web_socket("**/live/ws", routed)
    for path in ("**/live/poll*", "**/job/rows/*"):
        page.route(path, lambda route: route.continue_() if let[0] else route.abort())
    return sockets, switch


def test_a_lost_connection_is_shown_and_heals_by_itself(visit: Visit) -> None:
    _, let = interrupted(visit.page)
    job = make_job(State.RUNNING, progress_done=1, progress_total=4)
    page = opened(visit, JOBS)
    let(False)
    expect(sign(page)).to_have_attribute("data-status", "lost", timeout=10_000)
    expect(sign(page)).to_contain_text("Connection lost")
    write(job, state=State.COMPLETED, progress_done=4, finished_at=clock.now(), worker_id=None)
    new = make_job(State.PENDING, "meanwhile")
    assert row(page, new).count() == 0
    let(True)
    expect(sign(page)).to_have_attribute("data-status", "live", timeout=30_000)
    expect(state(row(page, job))).to_have_text("completed")
    expect(row(page, new)).to_be_visible()
    visit.faults[:] = [fault for fault in visit.faults if "ERR_FAILED" not in fault]


def test_without_a_websocket_it_polls(visit: Visit) -> None:
    visit.page.route_web_socket("**/live/ws", lambda socket: socket.close(code=1011))
    page = visit.open(JOBS)
    expect(sign(page)).to_have_attribute("data-status", "polling", timeout=15_000)
    job = make_job(State.PENDING, "polled")
    expect(row(page, job)).to_be_visible(timeout=15_000)


# -- the page of a job, and the dashboard ------------------------------------------------------------


def test_the_page_of_a_job_follows_its_runs(visit: Visit) -> None:
    job = make_job(State.RUNNING, progress_done=1, progress_total=4)
    page = opened(visit, page_of(job))
    badge = page.locator(".jp-headline .jp-badge").first
    write(job, progress_done=2)
    expect(page.locator(".jp-headbar .jp-percent")).to_have_text("50%")
    page.get_by_role("button", name="Cancel", exact=True).focus()
    write(job, state=State.FAILED, error=HOSTILE, error_type="ValueError", cause="handler", finished_at=clock.now(),
          worker_id=None)  # fmt: skip
    expect(badge).to_have_text("failed")
    expect(page.locator(".jp-error").first).to_contain_text(HOSTILE)
    expect(page.get_by_role("button", name="Retry")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel", exact=True)).to_have_count(0)
    assert page.locator("#job-page img").count() == 0
    page.get_by_role("button", name="Retry").press("Enter")
    expect(badge).to_have_text("pending")
    assert Job.objects.get(id=job.id).state == State.PENDING


def test_what_is_unfolded_stays_so(visit: Visit) -> None:
    job = make_job(State.RUNNING, progress_done=1, progress_total=4)
    make_attempt(job, outcome="retry", traceback="line one\nline two", error="x", error_type="E")
    page = opened(visit, page_of(job))
    page.get_by_text("Traceback").click()
    expect(page.get_by_text("line two")).to_be_visible()
    write(job, reason="another reason")
    expect(page.locator("#job-page")).to_contain_text("another reason")
    expect(page.get_by_text("line two")).to_be_visible()


def test_the_dashboard_follows(visit: Visit) -> None:
    page = opened(visit, "/admin/")
    expect(page.get_by_text("Nothing runs just now.")).to_be_visible()
    ago = clock.now() - timedelta(minutes=1)
    job = make_job(State.RUNNING, HOSTILE[:60], progress_done=1, progress_total=4, started_at=ago)
    shown = page.locator(f'.jp-runs [data-jp-job="{job.id}"]')
    expect(shown).to_be_visible(timeout=10_000)
    expect(shown).to_contain_text(HOSTILE[:60])
    write(job, progress_done=2, progress_at=clock.now())
    expect(shown.locator(".jp-percent")).to_have_text("50%")
    expect(shown.locator(".jp-eta")).to_contain_text("left")
    write(
        job,
        state=State.FAILED,
        finished_at=clock.now(),
        cause="handler",
        error_type="ValueError",
        worker_id=None,
    )
    expect(page.locator('[data-jp-key="failed"]')).to_contain_text("ValueError", timeout=10_000)
    expect(shown).to_have_count(0)


# -- looks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "visit",
    [
        {"viewport": {"width": 360, "height": 780}, "color_scheme": "dark"},
        {"viewport": {"width": 1280, "height": 900}},
    ],
    indirect=True,
    ids=["phone", "desktop"],
)
def test_pages_that_move_fit_their_window_and_no_column_moves(visit: Visit) -> None:
    job = make_job(State.RUNNING, "long." * 20, progress_done=1, progress_total=3, progress_label=HOSTILE)
    for path in ("/admin/", JOBS, page_of(job), "/admin/kernel/apptoken/make/", "/admin/kernel/app/new/"):
        visit.open(path)
        assert visit.overflow() <= 0, path
    page = opened(visit, JOBS)
    places = "[...document.querySelectorAll('#result_list tr.data-row > *')].map((e) => e.getBoundingClientRect().x)"
    before = page.evaluate(places)
    write(job, progress_done=3)
    expect(row(page, job).locator(".jp-percent")).to_have_text("100%")
    write(job, state=State.COMPLETED, finished_at=clock.now(), worker_id=None)
    expect(state(row(page, job))).to_have_text("completed")
    assert page.evaluate(places) == before


def test_a_job_that_is_removed_is_told_on_its_page(visit: Visit) -> None:
    job = make_job(State.FAILED)
    page = opened(visit, page_of(job))
    Job.objects.filter(id=job.id).delete()
    expect(page.locator(".jp-gone")).to_contain_text("not there any more", timeout=15_000)
