"""How schedules stand, for who comes back and for who listens to all of them."""

from typing import Any

import pytest

from jobsplatform import live_schedules
from jobsplatform.kernel import clock
from scheduler.models import Pause, Schedule, ScheduleTriggerLog
from scheduler.states import Misfire, PauseScope, Status, TriggerType
from tests.database.live.site import Page, Site, admin, run

pytestmark = pytest.mark.django_db(transaction=True)


def nightly() -> Schedule:
    now = clock.now()
    return Schedule.objects.create(
        id="nightly",
        job_type="x",
        trigger_type=TriggerType.MANUAL,
        misfire=Misfire.RUN_ONCE,
        created_at=now,
        edited_at=now,
        updated_at=now,
    )


def change(**columns: Any) -> None:
    """A write that nobody tells of."""
    Schedule.objects.filter(pk="nightly").update(updated_at=clock.now(), **columns)


async def hears(page: Page, revision: int) -> None:
    found = (await page.event("schedule_update", schedule_id="nightly"))["event"]
    while found["revision"] != revision:
        found = (await page.event("schedule_update", schedule_id="nightly"))["event"]


def test_who_comes_to_a_schedule_or_comes_back_is_told_how_it_stands():
    session = admin()
    nightly()

    async def story(site: Site) -> None:
        first = await site.page(session)
        await first.subscribe("schedule:nightly")
        await hears(first, 1)
        late = await site.page(session)
        await late.subscribe("schedule:nightly")
        await hears(late, 1)
        for snapshot in (True, False):
            await late.send(type="subscribe", sub="s", topic="schedule:nightly", snapshot=snapshot)
            await hears(late, 1)

    run(story)


def test_who_listens_to_the_system_hears_of_a_schedule_though_its_hint_was_lost():
    session = admin()
    nightly()

    async def story(site: Site) -> None:
        page = await site.page(session)
        await page.subscribe("system")
        await site.do(change, revision=7)
        await hears(page, 7)

    run(story)


def test_what_was_changed_decided_or_paused_has_been_written():
    nightly()
    began = clock.now()
    assert live_schedules.written(began, 10) == set()
    change()
    ScheduleTriggerLog.objects.create(
        schedule_id="decided", origin="schedule", triggered_at=began, status=Status.SKIPPED, reason="by hand"
    )
    old, new = Pause(target="resumed", lifted_at=began), Pause(target="paused")
    for pause in (old, new):
        pause.scope, pause.created_at = PauseScope.SCHEDULE, began
    Pause.objects.bulk_create([old, new])
    assert live_schedules.written(began, 10) == {"nightly", "decided", "resumed", "paused"}
