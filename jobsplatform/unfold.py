"""How the admin looks: title, sidebar, colours. Read once by the settings; imports no app."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy

TITLE = "JobsPlatform"


def _may_view(model: str) -> Callable[[HttpRequest], bool]:
    app_label, model_name = model.split(".")

    def allowed(request: HttpRequest) -> bool:
        return bool(request.user.has_perm(f"{app_label}.view_{model_name}"))

    return allowed


def _page(title: str, icon: str, model: str) -> dict[str, Any]:
    app_label, model_name = model.split(".")
    return {
        "title": title,
        "icon": icon,
        "link": reverse_lazy(f"admin:{app_label}_{model_name}_changelist"),
        "permission": _may_view(model),
    }


def _link(title: str, icon: str, address: str) -> dict[str, Any]:
    """For everybody who is let in."""
    return {"title": title, "icon": icon, "link": reverse_lazy(address)}


NAVIGATION: list[dict[str, Any]] = [
    {
        "title": "Work",
        "items": [
            _link("Dashboard", "space_dashboard", "admin:index"),
            _page("Jobs", "work_history", "tasks.job"),
            _page("Attempts", "replay", "tasks.jobattempt"),
            _page("Suspensions", "pause_circle", "tasks.suspension"),
            _link("Live demo", "stream", "demo:page"),
        ],
    },
    {
        "title": "Schedules",
        "items": [
            _page("Schedules", "calendar_month", "scheduler.schedule"),
            _page("Trigger log", "receipt_long", "scheduler.scheduletriggerlog"),
            _page("Pauses", "motion_photos_paused", "scheduler.pause"),
            _page("Backfills", "history", "scheduler.backfill"),
            _page("Cursors", "line_start_circle", "scheduler.schedulestate"),
        ],
    },
    {
        "title": "Celery Beat",
        "collapsible": True,
        "items": [
            _page("Periodic tasks", "event_repeat", "django_celery_beat.periodictask"),
            _page("Crontabs", "calendar_clock", "django_celery_beat.crontabschedule"),
            _page("Intervals", "timer", "django_celery_beat.intervalschedule"),
            _page("Clocked", "alarm", "django_celery_beat.clockedschedule"),
            _page("Solar", "sunny", "django_celery_beat.solarschedule"),
        ],
    },
    {
        "title": "Platform",
        "items": [
            _page("Processes", "memory", "kernel.process"),
            _page("Tenants", "domain", "kernel.tenant"),
            _page("Audit", "policy", "kernel.auditevent"),
        ],
    },
    {
        "title": "Sidecars",
        "items": [
            _page("Apps", "extension", "kernel.app"),
            _page("Tokens", "key", "kernel.apptoken"),
            _page("Handlers", "cable", "tasks.handlerbinding"),
            _page("External jobs", "open_in_new", "tasks.externaljob"),
            _page("App events", "campaign", "tasks.appevent"),
        ],
    },
    {
        "title": "People",
        "items": [
            _page("Users", "person", "auth.user"),
            _page("Groups", "group", "auth.group"),
        ],
    },
]

# A calm blue; the greys are the theme's own.
PRIMARY = {
    "50": "oklch(97% .014 254.604)",
    "100": "oklch(93.2% .032 255.585)",
    "200": "oklch(88.2% .059 254.128)",
    "300": "oklch(80.9% .105 251.813)",
    "400": "oklch(70.7% .165 254.624)",
    "500": "oklch(62.3% .214 259.815)",
    "600": "oklch(54.6% .245 262.881)",
    "700": "oklch(48.8% .243 264.376)",
    "800": "oklch(42.4% .199 265.638)",
    "900": "oklch(37.9% .146 265.522)",
    "950": "oklch(28.2% .091 267.935)",
}

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": TITLE,
    "SITE_HEADER": TITLE,
    "SITE_SYMBOL": "bolt",
    "SITE_URL": None,
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "COLORS": {"primary": PRIMARY},
    "DASHBOARD_CALLBACK": "jobsplatform.dashboard.panels.fill",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("tasks/icon.svg")},
    ],
    "STYLES": [
        lambda request: static("tasks/admin.css"),
        lambda request: static("scheduler/admin.css"),
    ],
    "SCRIPTS": [
        lambda request: static("tasks/admin.js"),
        lambda request: static("scheduler/admin.js"),
    ],
    "SIDEBAR": {"show_search": False, "show_all_applications": False, "navigation": NAVIGATION},
}
