"""PgQueuer: a queue on PostgreSQL that takes and ends jobs by the batch."""
