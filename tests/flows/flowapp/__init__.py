"""A user's Django app with jobs that behave well, badly and fatally."""
