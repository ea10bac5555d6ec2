"""Addresses below /live/; the WebSocket itself is ``tasks.live.routing``."""

from __future__ import annotations

from django.urls import path

from tasks.live import views

app_name = "live"
urlpatterns = [
    path("ticket", views.ticket, name="ticket"),
    path("poll", views.poll, name="poll"),
]
