"""Clients of the live feed, and how many jobs they look at."""

JOBS = "JP_LIVE_JOBS"
"""The variable by which a soak wants more of them."""
