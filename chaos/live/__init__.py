"""Clients of the live feed, and by which variables a soak wants more of them, or for longer."""

JOBS = "JP_LIVE_JOBS"
ROUNDS = "JP_LIVE_ROUNDS"
WITHIN = "JP_LIVE_WITHIN"
"""Seconds until every page must be right; a busy machine's suite is more patient."""
