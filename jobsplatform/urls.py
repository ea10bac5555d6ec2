"""Addresses: the admin, health and metrics, and what the apps add."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from jobsplatform.admin_site import screens

urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/", screens().urls),
    path("bus/", include("tasks.bus.urls")),
    path("", include("jobsplatform.health.urls")),
    path("live/", include("tasks.live.urls")),
    path("demo/", include("tasks.web.urls")),
    path("", RedirectView.as_view(pattern_name="admin:index"), name="home"),
]
