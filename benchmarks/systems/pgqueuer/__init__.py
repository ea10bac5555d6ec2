"""PgQueuer: a queue on PostgreSQL that takes and ends jobs by the batch."""

BATCH = 1000
"""Jobs that a worker takes at once: the size at which it is fastest."""
