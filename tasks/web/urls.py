"""Addresses of the demo page."""

from __future__ import annotations

from django.urls import path

from tasks.web import demo

app_name = "demo"
urlpatterns = [
    path("", demo.page, name="page"),
    path("scans", demo.start, name="start"),
]
