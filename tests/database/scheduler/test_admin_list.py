"""The list of schedules: what it shows, in which order, and what it asks of the database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from jobsplatform.kernel import clock
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.models import Tenant
from jobsplatform.testing.platform import HandPlatform
from scheduler import control, pauses, planner
from scheduler.models import Schedule
from tasks.handlers import job
from tests.database.scheduler.admin_support import HOSTILE, ODD_IDS, logged_in, page, text
from tests.database.scheduler.tools import ACTOR, at, create, tick, turn

pytestmark = pytest.mark.django_db
LIST = "admin:scheduler_schedule_changelist"


@pytest.fixture
def viewer() -> Client:
    return logged_in("scheduler.view_schedule")


@pytest.fixture(autouse=True)
def work(jobs: HandPlatform) -> HandPlatform:
    @job("tests.work")
    def handler() -> None: ...

    return jobs


def shown(client: Client, **query: Any) -> list[str]:
    answer = client.get(reverse(LIST), query)
    assert answer.status_code == 200
    return [row.id for row in answer.context["cl"].result_list]


def test_the_next_slot_first_and_empty_ones_last(viewer: Client) -> None:
    create("late", cron="0 20 * * *")
    create("over", cron="0 1 * * *", end="2026-01-01T06:00")
    create("soon", cron="0 13 * * *")
    create("by hand", manual=True)
    assert shown(viewer) == ["soon", "late", "by hand", "over"]
    assert shown(viewer, o="3") == ["soon", "late", "by hand", "over"]
    assert shown(viewer, o="-3") == ["late", "soon", "by hand", "over"]
    assert shown(viewer, o="0") == ["by hand", "late", "over", "soon"]


def test_each_state_is_a_word_and_a_filter(viewer: Client) -> None:
    for name in ("active", "paused", "faulty", "archived"):
        create(name)
    create("done", cron="0 1 * * *", end="2026-01-01T06:00")
    pauses.pause("schedule", "paused", actor=ACTOR, reason=HOSTILE)
    Schedule.objects.filter(id="faulty").update(timezone="Asia/Nowhere")
    control.archive("archived", actor=ACTOR)
    turn_poll()
    words = {"active", "paused", "faulty", "done", "archived"}
    assert set(shown(viewer)) == words - {"archived"}
    for word in words:
        assert shown(viewer, state=word) == [word], word
    assert set(shown(viewer, state="all")) == words
    whole = text(viewer.get(reverse(LIST), {"state": "all"}))
    assert all(f">{word}</span>" in whole for word in words) and "<img src=x" not in whole


def turn_poll() -> None:
    planner.edited_outside(clock.now())
    tick()


def test_everything_paused_is_told_and_every_one_is_paused(viewer: Client) -> None:
    create("a")
    create("b")
    pauses.pause("all", actor=ACTOR, reason="the move")
    assert set(shown(viewer, state="paused")) == {"a", "b"} and shown(viewer, state="active") == []
    assert "Everything is paused by anna: the move." in text(viewer.get(reverse(LIST)))


def test_sentence_zone_last_decision_and_outcome(viewer: Client, work: HandPlatform) -> None:
    create("report", cron="30 14 * * *", timezone="Asia/Kolkata", description="the daily one")
    turn(work, at(9, 1, day=2))
    whole = text(viewer.get(reverse(LIST)))
    assert "At 14:30 every day (Asia/Kolkata)" in whole and "the daily one" in whole
    assert "2026-01-03 14:30:00" in whole and "IST" in whole
    assert ">fired</span>" in whole and ">waiting</span>" in whole


def test_queries_do_not_grow_with_the_rows_and_params_are_not_read(
    viewer: Client, work: HandPlatform
) -> None:
    def ask() -> CaptureQueriesContext:
        viewer.get(reverse(LIST))
        with CaptureQueriesContext(connection) as queries:
            viewer.get(reverse(LIST))
        return queries

    create("first")
    turn(work, at(12, 2))
    few = len(ask())
    for number in range(20):
        create(f"n{number}", timezone="Europe/Berlin")
    turn(work, at(12, 4))
    many = ask()
    assert len(many) == few
    for query in many.captured_queries:
        assert '"params"' not in query["sql"] and '"applied"' not in query["sql"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"kind": "interval"}, {"b"}), ({"kind": "no such"}, set()), ({"source": "code"}, set()),
        ({"type": "tests.work"}, {"a", "b", "c"}), ({"type": "tests.other"}, set()),
        ({"tenant": "acme"}, {"c"}), ({"tenant": "acm"}, set()), ({"state": "no such"}, {"a", "b", "c"}),
        ({"q": "B "}, {"a", "b"}), ({"q": "monthly b"}, {"a"}), ({"q": "%"}, set()), ({"q": "x" * 5000}, set()),
        ({"q": "' OR 1=1 --"}, set()), ({"tenant": "a\x00"}, set()), ({"type": "a\x00:b\x00"}, set()),
        ({"kind": "\x00"}, set()), ({"source": "\x00"}, set()),
    ],
)  # fmt: skip
def test_filters_and_search(viewer: Client, query: dict[str, str], expected: set[str]) -> None:
    Tenant.objects.create(tenant_id="acme")
    create("a", description="the monthly bill")
    create("b", every="7m")
    create("c", tenants="*")
    assert set(shown(viewer, **query)) == expected


def test_any_id_is_listed_linked_and_opened(viewer: Client) -> None:
    for odd in ODD_IDS:
        create(odd)
    answer = viewer.get(reverse(LIST))
    whole = text(answer)
    assert set(ODD_IDS) == {row.id for row in answer.context["cl"].result_list}
    assert "<img src=x" not in whole and "</script>alert" not in whole
    changelist = answer.context["cl"]
    for row in changelist.result_list:
        link = changelist.url_for_result(row)
        opened = viewer.get(link)
        assert opened.status_code == 200 and opened.context["record"].id == row.id, row.id
        assert "<img src=x" not in text(opened)


def test_corrupt_rows_do_not_take_the_list_down(viewer: Client) -> None:
    create("good")
    for name, column, value in (
        ("zone", "timezone", "Asia/Nowhere"), ("type", "job_type", "nobody.declares"),
        ("list", "trigger_config", ["x"]), ("null", "trigger_config", None),
        ("cron", "trigger_config", {"cron": "0 0 31 2 *"}),
        ("text", "trigger_config", "?"), ("tenants", "tenants", {"a": 1}),
    ):  # fmt: skip
        create(name)
        if value is None:
            with connection.cursor() as cursor:
                cursor.execute("UPDATE scheduler_schedule SET trigger_config = 'null' WHERE id = %s", [name])
        else:
            Schedule.objects.filter(id=name).update(**{column: value})
    for planned in (False, True):
        if planned:
            turn_poll()
        names = shown(viewer)
        assert len(names) == 8
        for name in names:
            assert page(viewer, name).status_code == 200


def test_a_slot_that_is_due_shows_so(viewer: Client, work: HandPlatform) -> None:
    create("s")
    work.advance(timedelta(minutes=3).total_seconds())
    assert "ago" in text(viewer.get(reverse(LIST)))


def test_an_actor_with_markup_for_a_name(viewer: Client) -> None:
    create("s")
    pauses.pause("schedule", "s", actor=Actor(HOSTILE, "user"), reason=HOSTILE)
    assert "<img src=x" not in text(page(viewer)) + text(viewer.get(reverse(LIST)))
