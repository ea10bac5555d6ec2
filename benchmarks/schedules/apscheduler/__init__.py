"""APScheduler 3 with a job store that keeps: Redis."""
