"""A web process of ours, and clients of it."""
