"""Addresses: the admin, health and metrics, and what the apps add."""

from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/", admin.site.urls),
    path("", include("jobsplatform.health.urls")),
    path("", RedirectView.as_view(pattern_name="admin:index"), name="home"),
]
