"""A user's Django app whose handlers are those of the conformance pack, inside the platform."""
