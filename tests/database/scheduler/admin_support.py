"""Users of the schedules' pages, and schedules to look at."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote as url_quote

from django.contrib.admin.utils import quote
from django.test import Client
from django.urls import reverse

from tests.database.admin_support import HOSTILE, logged_in, messages_of

__all__ = [
    "ALL_VIEWS",
    "HOSTILE",
    "ODD_IDS",
    "address",
    "logged_in",
    "messages_of",
    "operator",
    "page",
    "text",
]

ALL_VIEWS = (
    "scheduler.view_schedule", "scheduler.view_schedulestate", "scheduler.view_scheduletriggerlog",
    "scheduler.view_pause", "scheduler.view_backfill",
)  # fmt: skip
ALL_VERBS = (
    "scheduler.add_schedule", "scheduler.change_schedule", "scheduler.delete_schedule", "scheduler.pause_schedule",
    "scheduler.pause_all_schedules", "scheduler.run_schedule", "scheduler.skip_schedule", "scheduler.backfill_schedule",
)  # fmt: skip
ODD_IDS = (
    "Überprüfung nachts", "夜間バックアップ", "🚀 nightly", "نسخ احتياطي",
    "it's 100% \"sure\"", "a/b/c", "_5Fx_2F", "add", "x/pause", "?q=1&a=b#c", HOSTILE, "bulk", "-", "a+b;c=d",
    "x" * 200,
)  # fmt: skip


def operator(*more: str) -> Client:
    """Somebody who may do everything to schedules, and see no payload unless it is named."""
    return logged_in(*ALL_VIEWS, *ALL_VERBS, *more, username="ann")


def address(verb: str, schedule_id: str = "s") -> str:
    """Of one verb, or page, of one schedule."""
    return reverse(f"admin:scheduler_schedule_{verb}", args=[quote(schedule_id)])


def page(client: Client, schedule_id: str = "s", **query: Any) -> Any:
    """The page of a schedule."""
    answer = client.get(address("change", schedule_id), query)
    assert answer.status_code == 200, (schedule_id, answer.status_code, url_quote(schedule_id))
    return answer


def text(answer: Any) -> str:
    """What came back."""
    return str(answer.content.decode())
