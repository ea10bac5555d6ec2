"""The admin's part of INSTALLED_APPS: its screens are loaded by whoever serves or checks them.

Django loads every ``admin.py`` while it starts; a worker shows no pages, and they take a tenth of its memory.
"""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.contrib import admin
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core import checks


class Looks(AppConfig):
    """Unfold without a site of its own; ``Admin`` names that."""

    name = "unfold"


class Admin(SimpleAdminConfig):
    """Django's admin with the site of Unfold, filled when ``screens`` is called."""

    default_site = "unfold.sites.UnfoldAdminSite"

    def ready(self) -> None:
        checks.register(check_dependencies, checks.Tags.admin)
        checks.register(_check_screens, checks.Tags.admin)


def screens() -> admin.AdminSite:
    """The admin site with the screens of every installed app. Loaded at the first call."""
    admin.autodiscover()
    admin.site.index_template = "jobsplatform/dashboard.html"
    admin.site.index_title = "Dashboard"
    return admin.site


def _check_screens(**given: Any) -> list[checks.CheckMessage]:
    screens()
    return list(check_admin_app(**given))
