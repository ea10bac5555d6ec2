"""An operator's way through the schedules' pages, in a real browser against a real process."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.urls import reverse
from playwright.sync_api import Page, expect

from jobsplatform.kernel import clock
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.models import Tenant
from scheduler import backfill, control, pauses, planner
from scheduler.models import Pause, Schedule, ScheduleTriggerLog
from scheduler.spec import ScheduleSpec
from tasks.models import Job
from tests.browser.conftest import Visit

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "<img src=x onerror=alert(1)></script>"
LIST = "/admin/scheduler/schedule/"
ANN = Actor("ann", "user")


def make(schedule_id: str, **fields: Any) -> Schedule:
    """A schedule that the web process knows too: of a job type that is built in."""
    given: dict[str, Any] = {"id": schedule_id, "job": "maintenance.report", "misfire": "run_once", **fields}
    made = given.pop("now", None)
    if not {"cron", "every", "manual"} & given.keys():
        given["cron"] = "0 2 * * *"
    return control.create(ScheduleSpec(**given), actor=ANN, now=made)


def page_of(schedule_id: str) -> str:
    return reverse("admin:scheduler_schedule_change", args=[quote(schedule_id)])


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def test_a_schedule_is_made_with_a_preview_and_edited(visit: Visit) -> None:
    page = visit.open(LIST + "add/")
    page.get_by_label("Id", exact=True).fill("夜間 report")
    page.get_by_label("Job type").fill("maintenance.reprot")
    page.get_by_label("Time zone").fill("Europe/Berlin")
    page.get_by_label("Cron line").fill("30 2 * * *")
    press(page, "Save")
    alerts = " ".join(page.get_by_role("alert").all_inner_texts())
    assert (
        "Did you mean 'maintenance.report'?" in alerts and "what becomes of slots that were missed" in alerts
    )
    assert not Schedule.objects.exists()
    page.get_by_label("Job type").fill("maintenance.report")
    page.get_by_label("Late slots").select_option("run_once")
    press(page, "Preview")
    expect(page.locator("#preview")).to_contain_text("At 02:30 every day (Europe/Berlin)")
    expect(page.locator("#preview li", has_text="02:30:00").first).to_be_visible()
    assert not Schedule.objects.exists()
    page.get_by_label("Runs", exact=True).select_option("every")
    expect(page.get_by_label("Cron line")).to_be_hidden()
    page.get_by_label("Runs", exact=True).select_option("cron")
    press(page, "Save")
    expect(page.locator("#schedule-page h1")).to_have_text("夜間 report")
    page.get_by_role("link", name="Edit …").click()
    page.get_by_label("Cron line").fill("30 3 * * *")
    press(page, "Preview")
    expect(page.locator("#preview")).to_contain_text("slots come")
    press(page, "Save")
    expect(page.locator("#schedule-page")).to_contain_text("At 03:30 every day")
    assert Schedule.objects.get().trigger_config["cron"] == "30 3 * * *"


def test_run_now_twice_pause_skip_and_resume(visit: Visit) -> None:
    make("s")
    page = visit.open(page_of("s"))
    page.get_by_role("link", name="Run now …").click()
    # Two presses of one button within one moment.
    page.locator("form.jp-form button[type=submit]").first.dblclick()
    expect(page.get_by_text(re.compile("It runs now|sent before"))).to_be_visible()
    assert Job.objects.count() == 1 and ScheduleTriggerLog.objects.count() == 1
    page.goto(visit.site + page_of("s"))
    page.locator("#slots").get_by_role("button", name="Skip").first.click()
    expect(page.locator("#slots .jp-struck")).to_have_count(1)
    press(page, "Run after all")
    expect(page.locator("#slots .jp-struck")).to_have_count(0)
    page.get_by_role("link", name="Pause …").click()
    page.get_by_label("Reason").fill("a new disk")
    press(page, "Pause")
    expect(page.locator(".jp-banner")).to_contain_text("Paused by ann: a new disk")
    press(page, "Resume")
    expect(page.locator(".jp-banner")).to_have_count(0)
    assert Pause.objects.get().lifted_by == "ann"


def test_many_are_paused_at_once(visit: Visit) -> None:
    for number in range(3):
        make(f"s{number}")
    page = visit.open(LIST)
    page.locator("#action-toggle").check()
    page.locator("select[name=action]").select_option("pause_selected")
    press(page, "Run")
    page.get_by_label("Reason").fill("the move")
    press(page, "Pause")
    expect(page.get_by_text("3 schedules paused.")).to_be_visible()
    assert page.locator("#result_list .jp-badge", has_text="paused").count() == 3


@pytest.mark.parametrize(
    "visit",
    [{"viewport": {"width": 360, "height": 780}, "color_scheme": "dark"}, {"viewport": {"width": 820, "height": 900}},
     {"viewport": {"width": 1280, "height": 900}}],
    indirect=True,
    ids=["phone", "tablet", "desktop"],
)  # fmt: skip
def test_no_screen_is_wider_than_its_window_and_no_markup_runs(visit: Visit) -> None:
    visit.page.on("dialog", lambda dialog: (visit.faults.append("markup ran"), dialog.dismiss()))
    now = clock.now()
    Tenant.objects.create(tenant_id="t" * 100)
    make("x" * 200, every="1h", description="y" * 500, tenants="*", now=now - timedelta(hours=9))
    make(HOSTILE, every="1h", description=HOSTILE, now=now - timedelta(hours=9), exclude=["01-01"])
    planner.step(now)
    pauses.pause("schedule", HOSTILE, actor=Actor(HOSTILE, "user"), reason=HOSTILE)
    pauses.pause("all", actor=ANN, reason="z" * 500)
    started = backfill.start(HOSTILE, now - timedelta(hours=5), now, "all", actor=Actor(HOSTILE, "user"))
    Schedule.objects.filter(id="x" * 200).update(fault="f" * 500, fault_at=now)
    models = ("schedule", "scheduletriggerlog", "schedulestate", "pause", "backfill")
    screens = [reverse(f"admin:scheduler_{name}_changelist") for name in models]
    screens += [LIST + "add/", reverse("admin:scheduler_pause_pause"), "/admin/django_celery_beat/periodictask/add/",
                reverse("admin:scheduler_backfill_change", args=[started.pk])]  # fmt: skip
    for name in ("x" * 200, HOSTILE):
        verbs = ("change", "run", "pause", "backfill", "edit")
        screens += [reverse(f"admin:scheduler_schedule_{verb}", args=[quote(name)]) for verb in verbs]
    screens += [
        reverse("admin:scheduler_scheduletriggerlog_change", args=[pk])
        for pk in ScheduleTriggerLog.objects.values_list("pk", flat=True)[:2]
    ]
    wide = []
    for path in screens:
        visit.open(path)
        if visit.overflow() > 0:
            wide.append((path, visit.overflow()))
    assert wide == []
