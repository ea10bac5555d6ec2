"""An operator's way through the admin, in a real browser against a real process."""

import re

import pytest
from playwright.sync_api import Page, expect

from jobsplatform.kernel import clock, processes, tokens
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.models import App
from tasks import external
from tasks.bus import bindings
from tasks.models import Job, Suspension
from tasks.states import State
from tests.browser.conftest import PASSWORD, Visit
from tests.browser.rows import build_job, make_attempt, make_job

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "<img src=x onerror=alert(1)></script>"
JOBS = "/admin/tasks/job/"


def rows(page: Page) -> list[str]:
    return page.locator("#result_list tr.data-row .jp-what").all_inner_texts()


def test_from_the_list_through_a_filter_to_a_job_and_its_cancel(visit: Visit) -> None:
    job = make_job(State.PENDING, "files.scan", params={"root": "/srv"})
    make_job(State.COMPLETED, "mail.send")
    page = visit.open(JOBS)
    assert rows(page) == ["mail.send", "files.scan"]
    page.get_by_role("button", name="Filters").press("Enter")
    page.get_by_label("pending", exact=True).check()
    page.get_by_role("button", name="Apply Filters").click()
    page.wait_for_url("**state=pending**")
    assert rows(page) == ["files.scan"]
    page.get_by_role("link", name=re.compile("files.scan")).click()
    expect(page.locator(".jp-why")).to_contain_text("Why is it not running?")
    expect(page.locator("pre").first).to_contain_text('"root": "/srv"')
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Cancel", exact=True).click()
    assert Job.objects.get(id=job.id).state == State.PENDING, "the question was answered with no"
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.get_by_text("Cancelled.")).to_be_visible()
    expect(page.locator(".jp-headline .jp-badge")).to_have_text("cancelled")
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_text("It will run again.")).to_be_visible()
    assert Job.objects.get(id=job.id).state == State.PENDING


def test_logging_in_by_the_form_leads_to_the_index(visit: Visit) -> None:
    visit.page.context.clear_cookies()
    page = visit.open(JOBS)
    assert "/admin/login/" in page.url
    page.get_by_label("Username").fill("ann")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/admin/**")
    expect(page.get_by_role("link", name="Suspensions").first).to_be_visible()


def test_search_finds_a_user(visit: Visit) -> None:
    make_job(State.PENDING, "mine", user_id="user-7")
    make_job(State.PENDING, "other", user_id="user-77")
    page = visit.open(JOBS)
    page.locator("#searchbar").fill("user-7")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=user-7**")
    assert rows(page) == ["mine"]


def test_a_suspension_is_made_and_lifted(visit: Visit) -> None:
    page = visit.open("/admin/tasks/suspension/")
    page.get_by_role("link", name="Suspend …").click()
    page.get_by_label("What").select_option("queue")
    page.get_by_label("Which").fill("defualt")
    page.get_by_role("button", name="Suspend").click()
    expect(page.get_by_role("alert")).to_contain_text("Did you mean 'default'?")
    page.get_by_label("Which").fill("default")
    page.get_by_label("Reason").fill("a new disk")
    page.get_by_role("button", name="Suspend").click()
    expect(page.get_by_text("Suspended: queue default.")).to_be_visible()
    page.get_by_role("link", name="queue default").click()
    page.get_by_role("button", name="Lift").click()
    expect(page.get_by_text("Lifted: queue default.")).to_be_visible()
    assert Suspension.objects.get().lifted_by == "ann"


def test_all_across_pages_are_cancelled(visit: Visit) -> None:
    Job.objects.bulk_create(build_job() for _ in range(130))
    page = visit.open(JOBS)
    page.locator("#action-toggle").check()
    page.get_by_text("Select all 130 jobs").click()
    page.locator("select[name=action]").select_option("cancel_selected")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("130 jobs looked at: 130 cancelled.")).to_be_visible(timeout=60_000)
    assert not Job.objects.exclude(state=State.CANCELLED).exists()


SCREENS = (
    JOBS, "/admin/tasks/jobattempt/", "/admin/tasks/suspension/", "/admin/tasks/suspension/suspend/",
    "/admin/kernel/process/", "/admin/kernel/tenant/", "/admin/kernel/app/", "/admin/kernel/auditevent/", "/admin/",
    "/admin/kernel/apptoken/", "/admin/kernel/apptoken/make/", "/admin/kernel/app/new/", "/admin/tasks/handlerbinding/",
    "/admin/tasks/externaljob/", "/admin/tasks/appevent/",
)  # fmt: skip


def hostile_job() -> Job:
    """A job whose every text is markup, or too long for any column."""
    worker = processes.register("worker", name="worker-" + "x" * 80, now=clock.now(), queues=["default"])
    job = make_job(
        State.RUNNING, "long." * 20, worker_id=worker.id, progress_done=1, progress_total=3, progress_label=HOSTILE,
        user_id="u" * 90, dedupe_key=HOSTILE, params={HOSTILE: "y" * 500}, reason=HOSTILE,
    )  # fmt: skip
    make_attempt(job, outcome="retry", error=HOSTILE, error_type="E" * 120, traceback="z" * 900 + HOSTILE)
    now, told = (
        clock.now(),
        external.Snapshot(title="t" * 300, message=HOSTILE, progress=3.0, eta_seconds=9e5),
    )
    app, actor = App.objects.create(app_id="a" * 100, title=HOSTILE), Actor(HOSTILE, "user")
    tokens.mint(app, name="n" * 100, scopes=tokens.SCOPES, expires_at=None, actor=actor, now=now)
    wanted = bindings.Wanted(
        "b" * 100, "s" * 90, transport="http", url=f"https://{'u' * 60}.example/{'p' * 300}"
    )
    bindings.register(app.app_id, wanted, actor=actor, now=now)
    external.upsert(app.app_id, "x" * 200, told, actor=actor, now=now)
    external.tell(app.app_id, "u" * 100, "k" * 100, scope=HOSTILE, payload={HOSTILE: 1}, actor=actor, now=now)
    return job


@pytest.mark.parametrize(
    "visit",
    [
        {"viewport": {"width": 360, "height": 780}, "color_scheme": "dark"},
        {"viewport": {"width": 820, "height": 900}},
        {"viewport": {"width": 1280, "height": 900}},
    ],
    indirect=True,
    ids=["phone", "tablet", "desktop"],
)
def test_no_screen_is_wider_than_its_window_and_no_markup_runs(visit: Visit) -> None:
    visit.page.on("dialog", lambda dialog: (visit.faults.append("markup ran"), dialog.dismiss()))
    job = hostile_job()
    wide = []
    for path in (*SCREENS, f"{JOBS}{job.id}/change/"):
        visit.open(path)
        if visit.overflow() > 0:
            wide.append((path, visit.overflow()))
    assert wide == []


def luminance(page: Page, selector: str, what: str) -> float:
    """0 for black, 1 for white: what a colour of an element looks like, drawn by the browser itself."""
    script = """([selector, what]) => {
        const canvas = document.createElement("canvas").getContext("2d");
        canvas.fillStyle = getComputedStyle(document.querySelector(selector))[what];
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
        return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
    }"""
    return float(page.evaluate(script, [selector, what]))


@pytest.mark.parametrize(
    "visit", [{"color_scheme": "dark"}, {"color_scheme": "light"}], indirect=True, ids=["dark", "light"]
)
def test_cards_follow_the_colour_scheme_and_stay_readable(
    visit: Visit, request: pytest.FixtureRequest
) -> None:
    job = make_job(State.FAILED)
    page = visit.open(f"{JOBS}{job.id}/change/")
    ground, text = luminance(page, ".jp-card", "backgroundColor"), luminance(page, ".jp-card h1", "color")
    if "dark" in request.node.name:
        assert ground < 0.3 and text > 0.7
    else:
        assert ground > 0.7 and text < 0.3


def test_the_verbs_are_reached_by_keyboard(visit: Visit) -> None:
    job = make_job(State.PAUSED)
    page = visit.open(f"{JOBS}{job.id}/change/")
    page.get_by_role("button", name="Resume").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Resumed: it waits for a free slot.")).to_be_visible()
