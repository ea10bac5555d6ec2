"""Whether pages can be live here: a project may serve the admin without the live feed."""

from __future__ import annotations

import json

from django.urls import NoReverseMatch, reverse

POLL = "/live/poll"
"""Where the script of a page looks for the feed."""


def served() -> bool:
    """Is the feed where the scripts look for it?"""
    try:
        return reverse("live:poll") == POLL
    except NoReverseMatch:
        return False


def topics(*names: str) -> str:
    """What a page listens to, for its script; empty where there is no feed: then the page is as it was loaded."""
    return json.dumps(names) if served() else ""
