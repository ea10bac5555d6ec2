"""Addresses of schedules: an id may hold any character, and is quoted as Django's admin quotes keys."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib.admin.utils import quote, unquote
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

__all__ = ["backfill_url", "list_url", "log_url", "schedule_link", "schedule_url", "unquote", "verb_url"]


def schedule_url(schedule_id: str, tenant_id: str = "") -> str:
    """The page of a schedule, as one of its tenants sees it."""
    address = reverse("admin:scheduler_schedule_change", args=[quote(schedule_id)])
    return f"{address}?{urlencode({'tenant': tenant_id})}" if tenant_id else address


def verb_url(schedule_id: str, verb: str) -> str:
    """Where something is done to a schedule."""
    return reverse(f"admin:scheduler_schedule_{verb}", args=[quote(schedule_id)])


def schedule_link(schedule_id: str, tenant_id: str = "") -> SafeString:
    """A link to a schedule; its id is the text."""
    return format_html(
        '<a class="jp-link" href="{}">{}</a>', schedule_url(schedule_id, tenant_id), schedule_id
    )


def list_url(model: str, **filters: str) -> str:
    """One of our lists, filtered."""
    address = reverse(f"admin:scheduler_{model}_changelist")
    return f"{address}?{urlencode(filters)}" if filters else address


def log_url(row_id: object) -> str:
    """The page of one decision."""
    return reverse("admin:scheduler_scheduletriggerlog_change", args=[str(row_id)])


def backfill_url(backfill_id: object) -> str:
    """The page of a backfill."""
    return reverse("admin:scheduler_backfill_change", args=[str(backfill_id)])
