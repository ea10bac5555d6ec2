"""The form of a schedule: the validator of every door, a preview that stores nothing, and edits that lose nothing."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobsplatform.kernel import clock
from jobsplatform.kernel.models import AuditEvent, Tenant
from jobsplatform.testing.platform import HandPlatform
from scheduler import definition, planner
from scheduler.admin.schedule_form import ScheduleForm, initial_of
from scheduler.models import Pause, Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.spec import ScheduleSpec
from tasks.handlers import job
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
from tests.database.scheduler.tools import at, create, edit, fired, state, turn
from tests.pure.timetables.cases import REFUSED

pytestmark = pytest.mark.django_db
ADD = "admin:scheduler_schedule_add"


@pytest.fixture(autouse=True)
def work(jobs: HandPlatform) -> None:
    @job("tests.work")
    def work(n: int = 0, secret: str = "") -> None: ...

    @job("tests.other")
    def other(m: int) -> None: ...


@pytest.fixture
def ann() -> Client:
    return operator("tasks.view_payload")


def add(client: Client, **fields: Any) -> Any:
    given = {"id": "s", "job": "tests.work", "kind": "cron", "cron": "30 2 * * *", "timezone": "UTC", "misfire": "skip",
             "enabled": "on", **fields}  # fmt: skip
    return client.post(reverse(ADD), given, follow=True)


def typed(row: Schedule, **fields: Any) -> dict[str, Any]:
    """What a browser sends for the form of this row, with some fields changed."""
    given = {name: value for name, value in initial_of(row).items() if value not in (None, False)}
    return {**given, **fields}


def change(client: Client, row: Schedule, **fields: Any) -> Any:
    return client.post(address("edit", row.id), typed(row, **fields), follow=True)


def errors(answer: Any) -> dict[str, list[str]]:
    return {name: [str(one) for one in found] for name, found in answer.context["form"].errors.items()}


# -- making ------------------------------------------------------------------------------------------


def test_a_schedule_is_made_and_shown(ann: Client) -> None:
    answer = add(ann, description="the figures", timezone="Europe/Berlin", params='{"n": 3}')
    assert messages_of(answer)[0].startswith("Made:")
    row = Schedule.objects.get()
    assert (row.id, row.job_type, row.params, row.timezone, row.source, row.created_by) == (
        "s", "tests.work", {"n": 3}, "Europe/Berlin", "admin", "ann",
    )  # fmt: skip
    assert AuditEvent.objects.get(action="schedule.created").actor == "ann"
    whole = text(answer)
    assert "At 02:30 every day (Europe/Berlin)" in whole and "2026-01-02 02:30:00" in whole and "CET" in whole


@pytest.mark.parametrize(
    ("fields", "config"),
    [
        ({"kind": "every", "every": "1h30m", "cron": "61 * * * *"}, {"every": 5400, "anchor": "2026-01-01T12:00:00Z"}),
        ({"kind": "every", "every": "90", "from_": "last_end"}, {"every": 90, "from": "last_end"}),
        ({"kind": "months", "months": "1", "anchor": "2026-01-31T06:00", "month_end": "skip"},
         {"months": 1, "anchor": "2026-01-31T06:00:00Z", "month_end": "skip"}),
        ({"kind": "at", "at": "2026-07-01T10:00", "timezone": "Europe/Berlin"}, {"at": "2026-07-01T08:00:00Z"}),
        ({"kind": "manual", "misfire": ""}, {}),
        ({"exclude": "2026-12-24, 12-25\n01-01", "jitter": "30", "max_runs": "7"},
         {"cron": "30 2 * * *", "exclude": ["01-01", "12-25", "2026-12-24"], "jitter_seconds": 30, "max_runs": 7}),
    ],
)  # fmt: skip
def test_each_kind_reads_its_own_fields(ann: Client, fields: dict[str, str], config: dict[str, Any]) -> None:
    answer = add(ann, **fields)
    assert messages_of(answer), errors(answer)
    assert Schedule.objects.get().trigger_config == config


def test_all_other_fields(ann: Client) -> None:
    Tenant.objects.create(tenant_id="acme")
    given = {"grace": "2.5", "misfire_limit": "2", "catch_up_window": "7200", "catch_up_max": "9", "overlap": "skip",
             "latest_start": "600", "pause_after_failures": "3", "tenants": "acme\nbeta", "priority": "background",
             "queue": "default", "max_attempts": "4", "log_days": "90", "misfire": "catch_up_limited"}  # fmt: skip
    answer = add(ann, **given)
    assert messages_of(answer), errors(answer)
    row = Schedule.objects.get()
    assert (row.misfire_grace_seconds, row.catch_up_window_seconds, row.catch_up_max) == (2.5, 7200, 9)
    assert (row.latest_start_seconds, row.pause_after_failures, row.tenants) == (600, 3, ["acme", "beta"])
    assert (row.overlap, row.max_attempts, row.log_days, row.queue) == ("skip", 4, 90, "default")
    assert row.priority is not None


def test_disabled_begins_paused(ann: Client) -> None:
    add(ann, enabled="")
    assert Pause.objects.get().target == "s" and "paused" in text(page(ann))


@pytest.mark.parametrize(
    ("fields", "field", "told"),
    [
        ({"cron": "61 * * * *"}, "cron", "61"), ({"cron": "0 0 31 2 *"}, "cron", ""),
        ({"cron": ""}, "cron", "say when it runs"),
        ({"cron": "x" * 5000}, "cron", ""), ({"kind": "every", "every": "7 parsecs"}, "every", "7 parsecs"),
        ({"kind": "months", "months": "x"}, "months", "x"), ({"kind": "at", "at": "tomorrow"}, "at", "tomorrow"),
        ({"timezone": "Europe/Brelin"}, "timezone", "Europe/Berlin"),
        ({"timezone": "Mars/Base"}, "timezone", "no time zone"),
        ({"timezone": "../../etc/passwd"}, "timezone", "no time zone"), ({"timezone": ""}, "timezone", "missing"),
        ({"timezone": "x" * 10_000}, "timezone", "characters"), ({"job": "tests.wrok"}, "job", "tests.work"),
        ({"job": ""}, "job", ""), ({"misfire": ""}, "misfire", "missed"), ({"params": "{"}, "params", "no JSON"),
        ({"params": '{"n": "x"}'}, "params", "n"), ({"params": '{"secrte": "x"}'}, "params", "secret"),
        ({"id": ""}, "id", "needs a name"), ({"id": " a "}, "id", "spaces"), ({"id": "x" * 201}, "id", "200"),
        ({"id": "x" * 5000}, "id", "200"), ({"id": "a\nb"}, "id", ""), ({"max_runs": "many"}, "max_runs", "many"),
        ({"grace": "-1"}, "grace", "-1"), ({"exclude": "x-mas"}, "exclude", "x-mas"),
        ({"priority": "hihg"}, "priority", "hihg"),
        ({"max_attempts": "0"}, "max_attempts", "0"), ({"log_days": "1.5"}, "log_days", "1.5"),
        ({"start": "2026-02-01", "end": "2026-01-01"}, "end", ""), ({"jitter": "x"}, "jitter", "x"),
        ({"tenants": "x" * 500}, "tenants", ""), ({"queue": "a b\t"}, "queue", ""),
        ({"description": "x" * 600}, "description", "500"),
        ({"pause_after_failures": "1e9"}, "pause_after_failures", ""), ({"catch_up_max": "0"}, "catch_up_max", "0"),
        ({"id": "a\x00b"}, "id", "ull"), ({"kind": "hourly"}, "kind", "hourly"), ({"cron": HOSTILE}, "cron", ""),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_at_its_field_and_nothing_is_stored(
    ann: Client, fields: dict[str, str], field: str, told: str
) -> None:
    for button in ({}, {"preview": "1"}):
        answer = add(ann, **fields, **button)
        assert answer.status_code == 200
        found = errors(answer)
        assert field in found, found
        assert told in " ".join(found[field]), found
        assert "<img src=x" not in text(answer)
    assert not Schedule.objects.exists() and not ScheduleState.objects.exists()


def test_every_fault_at_once(ann: Client) -> None:
    found = errors(add(ann, cron="61 * * * *", misfire="", job="tests.wrok", grace="x"))
    assert {"cron", "misfire", "job", "grace"} <= found.keys()


def test_an_id_that_is_taken(ann: Client) -> None:
    create("s")
    assert "id" in errors(add(ann)) and Schedule.objects.get().trigger_config["cron"] == "* * * * *"


def test_the_form_refuses_what_every_other_door_refuses(ann: Client) -> None:
    for number, (expression, _code, field) in enumerate(REFUSED):
        found = errors(add(ann, id=f"s{number}", cron=expression))
        wish = ScheduleSpec(id="s", job="tests.work", cron=expression, misfire="skip")
        (fault,) = definition.check(wish)
        told = found["cron"][0]
        assert fault.suggestion in told and (field == "cron" or field in told.lower()), expression
    assert not Schedule.objects.exists()


def test_any_id_is_made(ann: Client) -> None:
    for odd in ODD_IDS:
        answer = add(ann, id=odd)
        assert messages_of(answer) and answer.context["record"].id == odd, odd
        assert "<img src=x" not in text(answer)


# -- preview -----------------------------------------------------------------------------------------


def test_the_preview_of_a_new_one_is_what_will_run(ann: Client, jobs: HandPlatform) -> None:
    shown = add(ann, cron="0 2 * * *", timezone="Europe/Copenhagen", preview="1").context["preview"]
    assert "2026-01-02 02:00:00" in shown["slots"][0][0] and len(shown["slots"]) == 10
    assert any("2026-03-29" in change for change in shown["changes"])
    assert not Schedule.objects.exists()
    add(ann, cron="0 2 * * *", timezone="Europe/Copenhagen")
    turn(jobs, at(1, 1, day=3))
    assert fired() == ["01:00:00", "01:00:00"]


def test_the_preview_of_an_edit_lists_what_comes_and_goes(ann: Client) -> None:
    row = create(cron="0 2 * * *")
    answer = ann.post(address("edit"), typed(row, cron="0 3 * * *", preview="1"))
    shown = answer.context["preview"]
    assert (shown["added_number"], shown["removed_number"]) == ("90", "90")
    assert "03:00:00" in shown["added"][0][0] and "02:00:00" in shown["removed"][0][0]
    row.refresh_from_db()
    assert row.trigger_config["cron"] == "0 2 * * *" and row.revision == 1
    assert 'value="0 3 * * *"' in text(answer)


# -- editing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "gap": "shift", "fold": "both"},
        {"every": "1h30m"}, {"every": 100_000}, {"every": 60, "from_": "last_end"}, {"manual": True},
        {"months": 1, "anchor": "2026-01-31T06:00", "timezone": "Asia/Kolkata", "month_end": "skip"},
        {"months": 2, "month_end": "clamp"},
        {"at": "2026-10-25T02:30+01:00", "timezone": "Europe/Berlin"},
        {"cron": "0 0 * * *", "start": "2026-02-01", "end": "2027-01-01T00:00Z",
         "exclude": ["12-25", "2026-05-01"], "jitter": 30},
        {"every": 3600, "tenants": "*"}, {"every": 3600, "tenants": ["a b", "c"], "priority": 150},
        {"cron": "0 0 * * *", "grace": 2.5, "catch_up_window": 86_400_000,
         "misfire_limit": 3, "params": {"n": 1, "secret": "ü"}},
        {"cron": "H 0 * * *", "latest_start": 1_234_567.5, "max_runs": 10, "log_days": 7, "overlap": "buffer_one"},
    ],
)  # fmt: skip
def test_saving_what_is_stored_changes_nothing(ann: Client, fields: dict[str, Any]) -> None:
    row = create(**fields)
    before = Schedule.objects.filter(id="s").values().get()
    answer = change(ann, row)
    assert messages_of(answer) == ["Nothing to change: it says this already."], errors(answer)
    assert Schedule.objects.filter(id="s").values().get() == before
    form = ScheduleForm(typed(row), standing=row, initial=initial_of(row))
    assert form.is_valid() and definition.columns(form.spec(), now=clock.now(), standing=row) == {
        name: before[name] for name in definition.columns(form.spec(), now=clock.now(), standing=row)
    }


def test_an_edit_counts_from_now_on(ann: Client, jobs: HandPlatform) -> None:
    row = create(cron="0 0 * * *")
    assert messages_of(change(ann, row, cron="2 12 * * *")) == ["Saved."]
    turn(jobs, at(12, 3))
    assert fired() == ["12:02:00"]


def test_saving_the_description_again_and_again_moves_nothing(ann: Client, jobs: HandPlatform) -> None:
    create(cron="*/2 * * * *")
    for number in range(6):
        turn(jobs, at(12, number))
        change(ann, Schedule.objects.get(), description=f"text {number}")
    assert fired() == ["12:02:00", "12:04:00"] and state().last_fired_at == at(12, 4)


def test_a_second_editor_is_told_and_stores_nothing(ann: Client) -> None:
    row = create(cron="0 2 * * *", description="old")
    mine = typed(row, description="mine", cron="0 4 * * *")
    edit("s", cron="0 3 * * *")
    answer = ann.post(address("edit"), mine, follow=True)
    assert "somebody changed this schedule" in " ".join(errors(answer)["__all__"])
    assert ("Cron line", "0 3 * * *", "0 4 * * *") in answer.context["conflict"]
    assert 'value="0 4 * * *"' in text(answer), "what was typed stays"
    again = ann.post(address("edit"), mine, follow=True)
    assert again.context["conflict"]
    row.refresh_from_db()
    assert (row.trigger_config["cron"], row.description) == ("0 3 * * *", "old")


@pytest.mark.parametrize("revision", ["", "x", "-5", "999", "9" * 40])
def test_a_form_without_its_revision_stores_nothing(ann: Client, revision: str) -> None:
    row = create(cron="0 2 * * *")
    ann.post(address("edit"), typed(row, cron="0 3 * * *", revision=revision))
    row.refresh_from_db()
    assert row.trigger_config["cron"] == "0 2 * * *"


def test_an_id_cannot_be_changed(ann: Client) -> None:
    row = create()
    change(ann, row, id="other", description="new")
    assert list(Schedule.objects.values_list("id", "description")) == [("s", "new")]


def test_who_may_not_see_params_keeps_them() -> None:
    row = create(params={"n": 1, "secret": "hidden-word"})
    client = logged_in("scheduler.view_schedule", "scheduler.change_schedule")
    change(client, row, description="new", params='{"n": 9}')
    row.refresh_from_db()
    assert (row.description, row.params) == ("new", {"n": 1, "secret": "hidden-word"})
    for button in ({}, {"preview": "1"}):
        refused = change(client, row, job="tests.other", **button)
        assert "hidden-word" not in text(refused) and "Somebody who may see params" in text(refused)


def test_a_date_in_the_past(ann: Client, jobs: HandPlatform) -> None:
    add(ann, kind="at", at="2026-01-01T11:00")
    add(ann, id="once", kind="at", at="2026-01-01T11:00", misfire="run_once")
    turn(jobs, at(12, 1))
    assert set(ScheduleTriggerLog.objects.values_list("schedule_id", "status")) == {
        ("s", "skipped"),
        ("once", "fired"),
    }
    row = create("later", at="2026-05-01T00:00Z")
    assert "at" in errors(change(ann, row, at="2026-01-01T10:00"))


def test_one_instant_is_shown_alike_everywhere(ann: Client, settings: Any) -> None:
    settings.TIME_ZONE = "Africa/Cairo"
    with timezone.override("Africa/Cairo"):
        row = create(at="2026-12-03T16:20:57Z", timezone="Europe/Berlin")
        listed = text(ann.get(reverse("admin:scheduler_schedule_changelist")))
        form = text(ann.get(address("edit")))
        shown = text(page(ann))
    assert "2026-12-03 17:20:57" in listed and "CET" in listed
    assert "2026-12-03T17:20:57+01:00" in form
    assert "2026-12-03 17:20:57" in shown and row.trigger_config["at"] == "2026-12-03T16:20:57Z"


@pytest.mark.parametrize(
    ("column", "value"),
    [("trigger_config", '["x"]'), ("trigger_config", "null"), ("trigger_config", '{"cron": 5, "start": [1]}'),
     ("trigger_config", '"?"'), ("trigger_config", '{"every": {"a": 1}}'), ("tenants", '{"a": 1}'), ("params", "[1]"),
     ("params", "null"), ("timezone", "Asia/Nowhere"), ("job_type", "nobody.declares"), ("trigger_config", "{}")],
)  # fmt: skip
def test_a_row_that_was_spoilt_by_sql_is_shown_and_mended(ann: Client, column: str, value: str) -> None:
    create(cron="0 2 * * *")
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE scheduler_schedule SET {column} = %s WHERE id = 's'", [value])
    planner.edited_outside(clock.now())
    for verb in ("change", "edit", "run", "pause", "backfill"):
        assert ann.get(address(verb)).status_code == 200, verb
    assert ann.get(reverse("admin:scheduler_schedule_changelist")).status_code == 200
    good = {"job": "tests.work", "kind": "cron", "cron": "0 3 * * *", "timezone": "UTC", "misfire": "skip",
            "tenants": "", "params": "{}", "revision": str(Schedule.objects.get().revision)}  # fmt: skip
    mended = ann.post(address("edit"), good, follow=True)
    assert messages_of(mended) == ["Saved."], errors(mended)
    row = Schedule.objects.get()
    assert (row.trigger_config, row.fault, row.params) == ({"cron": "0 3 * * *"}, "", {})
