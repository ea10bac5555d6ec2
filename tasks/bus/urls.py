"""Addresses of the bus; mounted below ``bus/``."""

from __future__ import annotations

from django.urls import URLPattern, path, re_path

from tasks.bus.door import door
from tasks.bus.pages import docs, openapi

app_name = "bus"
urlpatterns: list[URLPattern] = [
    path("v1/openapi.json", openapi, name="openapi-json"),
    path("v1/docs", docs, name="openapi-view"),
    re_path(r"^v1/(?P<name>.*)\Z", door, name="method"),
]
