"""Run now, pause, resume, skip, archive, restore, delete on the page of a schedule."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobsplatform.kernel import clock
from jobsplatform.kernel.models import AuditEvent, Tenant
from jobsplatform.testing.platform import HandPlatform
from scheduler import backfill, pauses
from scheduler.models import Backfill, Pause, Schedule, ScheduleTriggerLog
from tasks.handlers import job
from tasks.models import Job
from tests.database.scheduler.admin_support import (
    HOSTILE,
    ODD_IDS,
    address,
    logged_in,
    messages_of,
    operator,
    page,
    text,
)
from tests.database.scheduler.tools import ACTOR, at, create, decided, fired, state, turn

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def work(jobs: HandPlatform) -> None:
    @job("tests.work", public_params=["open"])
    def work(n: int = 0, open: str = "", secret: str = "") -> None: ...

    @job("tests.alone", exclusive=True)
    def alone() -> None: ...


@pytest.fixture
def ann() -> Client:
    return operator()


def key_of(client: Client, schedule_id: str = "s") -> str:
    found = re.search(r'name="key" value="(\w+)"', text(client.get(address("run", schedule_id))))
    assert found is not None
    return found.group(1)


def run(client: Client, schedule_id: str = "s", **form: Any) -> Any:
    return client.post(address("run", schedule_id), {"key": "k", **form}, follow=True)


# -- run now -----------------------------------------------------------------------------------------


def test_a_double_click_is_one_run(ann: Client) -> None:
    create(every=86_400, anchor="2026-01-01T01:00:00Z")
    form = {"key": key_of(ann)}
    first = ann.post(address("run"), form, follow=True)
    second = ann.post(address("run"), form, follow=True)
    assert "It runs now" in messages_of(first)[0] and "sent before" in messages_of(second)[-1]
    made = Job.objects.get()
    assert (made.origin, made.user_id) == ("manual", "ann") and str(made.id) in text(first)
    assert state().next_due_at == at(1, day=2), "it took no slot"
    assert key_of(ann) != form["key"]


def test_other_params_for_one_run_and_what_is_wrong_with_them(ann: Client) -> None:
    create(params={"n": 1})
    run(ann, params='{"n": 7}')
    assert Job.objects.get().params["n"] == 7
    for params, told in (
        ("{", "no JSON"),
        ("[1]", "JSON object"),
        ('{"secrte": "x"}', "Did you mean 'secret'?"),
        ('{"n": "x"}', "n"),
    ):
        answer = run(ann, key="other", params=params)
        assert told in text(answer).replace("&#x27;", "'") and answer.context["form"].errors, params
    conflict = run(ann, params='{"n": 8}')
    assert conflict.context["form"].non_field_errors() and 'value="k"' not in text(conflict)
    assert Job.objects.count() == 1


def test_a_refused_run_is_told_and_on_record(ann: Client) -> None:
    create(job="tests.alone")
    run(ann)
    told = messages_of(run(ann, key="second"))
    assert "an earlier run is not finished" in told[-1]
    assert ScheduleTriggerLog.objects.get(origin="manual:second").reason == "already_running"
    run(ann, key="third", force="on")
    assert Job.objects.count() == 2


def test_a_run_for_a_tenant(ann: Client) -> None:
    for name in ("acme", "beta"):
        Tenant.objects.create(tenant_id=name)
    create(tenants="*")
    assert "This field is required" in text(run(ann))
    run(ann, tenant="beta")
    assert Job.objects.get().tenant_id == "beta"
    assert "Did you mean" in text(run(ann, key="x", tenant="betaa"))


def test_params_are_shown_to_those_who_may_see_them() -> None:
    create(params={"open": "seen", "secret": "hidden-word"})
    for verb in ("change", "run", "edit"):
        assert "hidden-word" in text(operator_with_payload().get(address(verb)))
        assert "hidden-word" not in text(logged_in("scheduler.view_schedule", "scheduler.run_schedule",
                                                   "scheduler.change_schedule").get(address(verb)))  # fmt: skip
    assert "seen" in text(logged_in("scheduler.view_schedule").get(address("change")))


def operator_with_payload() -> Client:
    return logged_in(
        "scheduler.view_schedule", "scheduler.run_schedule", "scheduler.change_schedule", "tasks.view_payload"
    )


# -- pausing -----------------------------------------------------------------------------------------


def test_pause_and_resume_with_reason_expiry_and_rule(ann: Client, jobs: HandPlatform) -> None:
    create()
    until = timezone.localtime(clock.now() + timedelta(minutes=10)).strftime("%Y-%m-%dT%H:%M:%S")
    told = ann.post(
        address("pause"), {"reason": HOSTILE, "expires_at": until, "resume_rule": "misfire"}, follow=True
    )
    assert "Paused: s until" in messages_of(told)[0]
    whole = text(told)
    assert "Paused by ann" in whole and "misfire policy" in whole and "<img src=x" not in whole
    turn(jobs, at(12, 5))
    assert fired() == []
    resumed = ann.post(address("resume"), follow=True)
    assert messages_of(resumed)[0].startswith("Resumed.")
    assert "Nothing done" in messages_of(ann.post(address("resume"), follow=True))[-1]
    pause = Pause.objects.get()
    assert (pause.resume_rule, pause.author, pause.lifted_by) == ("misfire", "ann", "ann")


@pytest.mark.parametrize(
    ("form", "told"),
    [({"expires_at": "2001-01-01T00:00", "resume_rule": "drop"}, "not in the future"),
     ({"expires_at": "soon", "resume_rule": "drop"}, "valid date"), ({"resume_rule": "x"}, "valid choice"),
     ({"reason": "x" * 501, "resume_rule": "drop"}, "at most 500")],
)  # fmt: skip
def test_a_pause_that_cannot_be(ann: Client, form: dict[str, str], told: str) -> None:
    create()
    assert told in text(ann.post(address("pause"), form)) and not Pause.objects.exists()


def test_a_tenant_and_everything(ann: Client) -> None:
    create()
    Tenant.objects.create(tenant_id="acme")
    where = reverse("admin:scheduler_pause_pause")
    assert "Did you mean &#x27;acme&#x27;" in text(
        ann.post(where, {"scope": "tenant", "target": "acne", "resume_rule": "drop"})
    )
    ann.post(where, {"scope": "tenant", "target": "acme", "resume_rule": "drop"})
    ann.post(where, {"scope": "all", "resume_rule": "drop"})
    assert "Everything is paused by ann" in text(page(ann))
    whole = text(ann.get(reverse("admin:scheduler_pause_changelist")))
    assert "tenant acme" in whole and "everything" in whole and "in force" in whole
    everything = Pause.objects.get(scope="all")
    assert "in force" in text(ann.get(reverse("admin:scheduler_pause_change", args=[everything.pk])))
    lift = reverse("admin:scheduler_pause_lift", args=[everything.pk])
    assert "Resumed: everything." in messages_of(ann.post(lift, follow=True))
    assert "not in force" in messages_of(ann.post(lift, follow=True))[-1]
    assert "Everything is paused" not in text(page(ann))


def test_the_resumed_schedule_waits_for_the_wider_pause(ann: Client) -> None:
    create()
    pauses.pause("schedule", "s", actor=ACTOR)
    pauses.pause("all", actor=ACTOR)
    assert "But everything is paused" in messages_of(ann.post(address("resume"), follow=True))[0]


# -- skipping ----------------------------------------------------------------------------------------


def test_skip_one_slot_and_take_it_back(ann: Client, jobs: HandPlatform) -> None:
    create()
    slot = {"planned_at": at(12, 2).isoformat()}
    for _ in range(2):
        told = ann.post(address("skip"), slot, follow=True)
    assert "12:02:00" in messages_of(told)[-1] and "to be skipped" in text(told)
    ann.post(address("skip"), {"planned_at": at(12, 3).isoformat()})
    assert (
        "12:03:00"
        in messages_of(ann.post(address("unskip"), {"planned_at": at(12, 3).isoformat()}, follow=True))[-1]
    )
    turn(jobs, at(12, 4))
    assert decided()[1:3] == [("12:02:00", "skipped", 1), ("12:03:00", "fired", 1)]


@pytest.mark.parametrize(
    "planned_at", ["2026-01-01T12:00:30+00:00", "2026-01-01T12:02:00", "x", "2001-01-01T00:00:00Z"]
)
def test_what_is_no_slot_is_not_skipped(ann: Client, planned_at: str) -> None:
    create()
    for verb in ("skip", "unskip"):
        told = messages_of(ann.post(address(verb), {"planned_at": planned_at}, follow=True))[-1]
        assert "slot" in told or "planned_at" in told
    assert state().skips == []


# -- archive, restore, delete ------------------------------------------------------------------------


def test_archive_restore_delete(ann: Client) -> None:
    create()
    assert "Archived." in messages_of(ann.post(address("archive"), follow=True))[0]
    shown = text(page(ann))
    assert "Archived since" in shown and address("restore") in shown and address("pause") not in shown
    assert "is archived" in text(run(ann))
    assert "Restored" in messages_of(ann.post(address("restore"), follow=True))[-1]
    assert "Deleted: s." in messages_of(ann.post(address("remove"), follow=True))[-1]
    assert not Schedule.objects.exists()
    actions = set(AuditEvent.objects.filter(actor="ann").values_list("action", flat=True))
    assert {"schedule.archived", "schedule.restored", "schedule.deleted"} <= actions


def test_a_schedule_of_the_code_is_steered_but_not_changed(ann: Client) -> None:
    create()
    Schedule.objects.filter(id="s").update(source="code", module="shop.schedules")
    shown = text(page(ann))
    for verb in ("run", "pause", "backfill"):
        assert address(verb) in shown
    for verb in ("edit", "archive", "remove"):
        assert address(verb) not in shown
        assert "shop.schedules" in messages_of(ann.post(address(verb), {"revision": "1"}, follow=True))[-1]
    assert ann.post(address("pause"), {"resume_rule": "drop"}, follow=True).status_code == 200
    assert Pause.objects.exists()


def test_any_id_in_every_verb(ann: Client) -> None:
    for odd in ODD_IDS:
        create(odd)
        assert messages_of(run(ann, odd))[-1].startswith("It runs now"), odd
        ann.post(address("pause", odd), {"resume_rule": "drop"})
        assert Pause.objects.filter(target=odd).exists(), odd
        ann.post(address("resume", odd))
        ann.post(address("archive", odd))
        assert Schedule.objects.get(id=odd).archived_at is not None, odd
    assert Job.objects.count() == len(ODD_IDS)


# -- many at once ------------------------------------------------------------------------------------


def bulk(client: Client, action: str, ids: list[str], across: bool = False, query: str = "") -> Any:
    where = reverse("admin:scheduler_schedule_changelist") + query
    form = {"action": action, "_selected_action": ids, "select_across": "1" if across else "0", "index": "0"}
    return client.post(where, form, follow=True)


def token(answer: Any) -> str:
    found = re.search(r'name="progress" value="([^"]+)"', text(answer))
    assert found is not None
    return found.group(1)


def test_a_selection_is_paused_and_resumed(ann: Client) -> None:
    for odd in ODD_IDS:
        create(odd)
    chosen = [*ODD_IDS[:5], HOSTILE]
    asked = bulk(ann, "pause_selected", chosen)
    assert "Pause 6 schedules" in text(asked) and not Pause.objects.exists()
    where = reverse("admin:scheduler_schedule_bulk", args=["pause"])
    wrong = ann.post(
        where, {"progress": token(asked), "expires_at": "2001-01-01T00:00", "resume_rule": "drop"}
    )
    assert "still to come" in text(wrong) and not Pause.objects.exists()
    form = {"progress": token(wrong), "reason": "the move", "resume_rule": "misfire"}
    assert "6 schedules paused." in messages_of(ann.post(where, form, follow=True))[-1]
    assert set(Pause.objects.values_list("target", "reason", "resume_rule")) == {
        (c, "the move", "misfire") for c in chosen
    }
    assert "6 schedules resumed." in messages_of(bulk(ann, "resume_selected", chosen))[-1]
    assert "Nothing done" in messages_of(bulk(ann, "resume_selected", chosen))[-1]


def test_all_that_the_filters_match_in_slices(ann: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler.admin.bulk.SLICE_SECONDS", 0)
    monkeypatch.setattr("scheduler.admin.bulk.BATCH", 2)
    for number in range(5):
        create(f"n{number}")
    create("other", every="7m")
    asked = bulk(ann, "pause_selected", ["n0"], across=True, query="?kind=cron")
    assert "Pause 5 schedules" in text(asked)
    where = reverse("admin:scheduler_schedule_bulk", args=["pause"])
    answer = ann.post(where, {"progress": token(asked), "resume_rule": "drop"}, follow=True)
    rounds = 0
    while "Go on" in text(answer) and rounds < 9:
        answer = ann.post(where, {"progress": token(answer)}, follow=True)
        rounds += 1
    assert "5 schedules paused." in messages_of(answer)[-1] and rounds == 2
    assert not Pause.objects.filter(target="other").exists()


def test_a_forged_choice_does_nothing(ann: Client) -> None:
    create()
    where = reverse("admin:scheduler_schedule_bulk", args=["pause"])
    for forged in ("", "x", '{"ids": ["s"]}'):
        told = ann.post(where, {"progress": forged, "resume_rule": "drop"}, follow=True)
        assert "too old or incomplete" in messages_of(told)[-1]
    assert ann.post(reverse("admin:scheduler_schedule_bulk", args=["delete"])).status_code == 404
    assert not Pause.objects.exists()


# -- backfill ----------------------------------------------------------------------------------------


BACK = {"after": "2026-01-01T09:00", "until": "2026-01-01T11:30", "mode": "missing", "concurrency": "2"}


def test_a_backfill_is_previewed_begun_once_and_cancelled(ann: Client) -> None:
    create(cron="0 * * * *", timezone="Europe/Berlin")
    seen = ann.post(address("backfill"), {**BACK, "preview": "1"})
    shown = seen.context["shown"]
    assert (shown["total"], shown["runs"]) == (2, 2) and not Backfill.objects.exists()
    assert "CET" in text(seen)
    for _ in range(2):
        answer = ann.post(address("backfill"), BACK, follow=True)
    assert "running already" in text(answer)
    row = Backfill.objects.get()
    assert (row.after, row.concurrency, row.author) == (at(8), 2, "ann"), "a time of the schedule's zone"
    backfill.step(clock.now())
    where = reverse("admin:scheduler_backfill_change", args=[row.pk])
    whole = text(ann.get(where))
    assert "2 made" in whole and "fired" in whole
    cancel = reverse("admin:scheduler_backfill_cancel", args=[row.pk])
    assert "Cancelled" in messages_of(ann.post(cancel, follow=True))[-1]
    assert "has ended" in messages_of(ann.post(cancel, follow=True))[-1]
    assert "cancelled" in text(ann.get(reverse("admin:scheduler_backfill_changelist")))
    assert "Backfills" in text(page(ann))


@pytest.mark.parametrize(
    ("form", "told"),
    [({"until": "2026-01-01T08:00"}, "is not after"), ({"until": "2026-02-01T08:00"}, "future"),
     ({"after": "x"}, "no instant"),
     ({"mode": "x"}, "valid choice"), ({"concurrency": "0"}, "greater than or equal"),
     ({"until": "2026-01-01T09:30"}, "no slot"),
     ({"after": ""}, "required"), ({"after": HOSTILE}, "no instant"),
     ({"after": "1980-01-01T00:00"}, "Split the range")],
)  # fmt: skip
def test_a_backfill_that_cannot_be(ann: Client, form: dict[str, str], told: str) -> None:
    create(cron="0 * * * *")
    for extra in ({}, {"preview": "1"}):
        answer = text(ann.post(address("backfill"), {**BACK, **form, **extra}))
        assert told in answer and "<img src=x" not in answer
    assert not Backfill.objects.exists()


def test_a_manual_schedule_has_no_backfill(ann: Client) -> None:
    create(manual=True)
    assert address("backfill") not in text(page(ann))
    assert "no timetable" in text(ann.post(address("backfill"), BACK))


def test_what_people_did_is_one_link_away() -> None:
    create(HOSTILE)
    pauses.pause("schedule", HOSTILE, actor=ACTOR)
    client = logged_in("scheduler.view_schedule", "kernel.view_auditevent")
    assert address("history", HOSTILE) in text(page(client, HOSTILE))
    trail = client.get(address("history", HOSTILE), follow=True)
    assert "schedule.created" in text(trail) and address("change", HOSTILE) in text(trail)
    assert "<img src=x" not in text(trail)
    assert address("history", HOSTILE) not in text(page(logged_in("scheduler.view_schedule"), HOSTILE))
