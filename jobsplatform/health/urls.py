"""Addresses of the health pages."""

from __future__ import annotations

from django.urls import path

from jobsplatform.health import views

urlpatterns = [
    path("health/live", views.live, name="health-live"),
    path("health/ready", views.ready, name="health-ready"),
    path("metrics", views.metrics, name="metrics"),
]
